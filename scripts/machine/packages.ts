/** Files of the machine's pinned Debian packages, each with its origin. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DebianPackage, fetchPackage } from '../deploy/debian-root.ts'
import { repository } from '../deploy/locked-package.ts'

type PackageList = { readonly mirror: string; readonly packages: readonly DebianPackage[] }

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
    const { packages, mirror } = readPackageList()
    const entry = packages.find((one) => one.name === name)
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

/** ustar and the GNU names that dpkg writes. */
function readTar(bytes: Uint8Array): [Map<string, Uint8Array>, Map<string, string>] {
  const files = new Map<string, Uint8Array>()
  const links = new Map<string, string>()
  const text = (from: number, length: number) =>
    Buffer.from(bytes.subarray(from, from + length))
      .toString('utf8')
      .replace(/\0.*$/s, '')
  let longName: string | undefined
  let longLink: string | undefined
  for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8)
    const type = String.fromCharCode(bytes[at + 156] ?? 0)
    const content = bytes.subarray(at + 512, at + 512 + size)
    const name = longName ?? [text(at + 345, 155), text(at, 100)].filter(Boolean).join('/')
    const path = name.replace(/^\.\//, '')
    const isLong = type === 'L' || type === 'K'
    if (type === 'L') longName = text(at + 512, size)
    else if (type === 'K') longLink = text(at + 512, size)
    else if (type === '0' || type === '\0') files.set(path, content)
    else if (type === '2') links.set(path, longLink ?? text(at + 157, 100))
    if (!isLong) {
      longName = undefined
      longLink = undefined
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
  return [files, links]
}
