/** Files of the machine's pinned Debian packages, each with its origin. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DebianPackage, fetchPackage } from '../deploy/debian-root.ts'
import { repository } from '../deploy/locked-package.ts'
import { listTar } from './tar-list.ts'

type PackageList = {
  readonly mirror: string
  readonly packages: readonly DebianPackage[]
  /** Not part of the machine, only used to try it. */
  readonly testing: readonly DebianPackage[]
}

export function readPackageList(): PackageList {
  const path = join(repository, 'deploy', 'machine', 'debian-packages.json')
  return JSON.parse(readFileSync(path, 'utf8')) as PackageList
}

/** An unpacked package in memory: content by path, links by path. */
export class Package {
  readonly name: string
  readonly #files: ReadonlyMap<string, Uint8Array>
  readonly #links: ReadonlyMap<string, string>

  private constructor(name: string, files: Map<string, Uint8Array>, links: Map<string, string>) {
    this.name = name
    this.#files = files
    this.#links = links
  }

  static async open(name: string): Promise<Package> {
    const { packages, testing, mirror } = readPackageList()
    const entry = [...packages, ...testing].find((one) => one.name === name)
    if (entry === undefined) throw new Error(`debian-packages.json does not list ${name}`)
    const archive = await fetchPackage(entry, mirror)
    const { exitCode, stdout, stderr } = Bun.spawnSync(['dpkg-deb', '--fsys-tarfile', archive])
    if (exitCode !== 0)
      throw new Error(`${archive} cannot be unpacked: ${stderr.toString().trim()}`)
    return new Package(name, ...readTar(new Uint8Array(stdout)))
  }

  /** Follows a link within the package; throws if the path is not in it. */
  file(path: string): Uint8Array {
    const link = this.#links.get(path)
    if (link !== undefined) return this.file(join(path, '..', link))
    const content = this.#files.get(path)
    if (content === undefined) throw new Error(`${this.name} has no file ${path}`)
    return content
  }

  /** Paths of plain files. */
  paths(): string[] {
    return [...this.#files.keys()]
  }
}

function readTar(bytes: Uint8Array): [Map<string, Uint8Array>, Map<string, string>] {
  const files = new Map<string, Uint8Array>()
  const links = new Map<string, string>()
  const read = (at: number, length: number) => bytes.subarray(at, at + length)
  for (const { path, kind, at, size, to } of listTar(read, 0, bytes.length)) {
    if (kind === 'file') files.set(path, read(at, size))
    else if (kind === 'link') links.set(path, to)
  }
  return [files, links]
}
