/** The smallest root file system that runs a program linked against glibc, built from pinned Debian packages. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { toolCache } from './go-tools.ts'
import { repository } from './locked-package.ts'
import type { Architecture } from './oci/image.ts'
import type { TarEntry } from './oci/tar.ts'

export type DebianPackage = {
  readonly name: string
  readonly version: string
  readonly path: string
  readonly sha256: string
}
type PackageList = { readonly mirror: string } & Readonly<Record<Architecture, DebianPackage[]>>

/** The loader's path is part of every program; this link points to Debian's location. */
const layouts = {
  amd64: {
    libraries: 'lib/x86_64-linux-gnu',
    loader: 'ld-linux-x86-64.so.2',
    link: 'lib64/ld-linux-x86-64.so.2',
    to: '../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2',
  },
  arm64: {
    libraries: 'lib/aarch64-linux-gnu',
    loader: 'ld-linux-aarch64.so.1',
    link: 'lib/ld-linux-aarch64.so.1',
    to: 'aarch64-linux-gnu/ld-linux-aarch64.so.1',
  },
} as const

const libraries = ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2']

/** The same unprivileged user id that distroless images use. */
export const userId = 65532

export function listDebianPackages(architecture: Architecture): readonly DebianPackage[] {
  return readList()[architecture]
}

export async function debianRoot(architecture: Architecture): Promise<TarEntry[]> {
  const { libraries: folder, loader, link, to } = layouts[architecture]
  const wanted = [...libraries, loader].map((name) => `${folder}/${name}`)
  const licence = 'usr/share/doc/libc6/copyright'
  const files = new Map<string, Uint8Array>()
  for (const entry of listDebianPackages(architecture)) {
    const archive = await fetchPackage(entry, readList().mirror)
    for (const path of [...wanted, licence]) files.set(path, readDebFile(archive, path))
  }
  return [
    ...[...files].map(
      ([path, content]): TarEntry => ({
        kind: 'file',
        path,
        mode: path === licence ? 0o644 : 0o755,
        content,
      }),
    ),
    { kind: 'link', path: link, mode: 0o777, to },
    text('etc/passwd', `root:x:0:0:root:/:/none\nnonroot:x:${userId}:${userId}:nonroot:/:/none\n`),
    text('etc/group', `root:x:0:\nnonroot:x:${userId}:\n`),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    // Any user may be chosen at run time, and an unwritable workspace prevents the start.
    { kind: 'folder', path: 'workspace', mode: 0o1777 },
    // Runtimes mount these; the runtime of the programs reads /proc.
    { kind: 'folder', path: 'proc', mode: 0o555 },
    { kind: 'folder', path: 'dev', mode: 0o755 },
    { kind: 'folder', path: 'sys', mode: 0o555 },
  ]
}

function text(path: string, content: string): TarEntry {
  return { kind: 'file', path, mode: 0o644, content: new TextEncoder().encode(content) }
}

function readList(): PackageList {
  const path = join(repository, 'deploy', 'images', 'debian-packages.json')
  return JSON.parse(readFileSync(path, 'utf8')) as PackageList
}

const archivePath = (entry: DebianPackage) =>
  join(toolCache(), `${entry.sha256.slice(0, 12)}-${basename(entry.path)}`)

export const isFetched = (entry: DebianPackage) => existsSync(archivePath(entry))

/** The path of the package's archive, from the cache or the mirror; bytes that do not match the pin are refused in both. */
export async function fetchPackage(entry: DebianPackage, mirror: string): Promise<string> {
  const path = archivePath(entry)
  if (existsSync(path) && sha256(readFileSync(path)) === entry.sha256) return path
  const base = process.env.PRIVATEMODE_DEBIAN_MIRROR ?? mirror
  const response = await fetch(`${base}/${entry.path}`, { signal: AbortSignal.timeout(120_000) })
  if (!response.ok) {
    throw new Error(
      `the Debian mirror answers ${response.status} for ${entry.name} ${entry.version}; ` +
        'name one that still has it with PRIVATEMODE_DEBIAN_MIRROR',
    )
  }
  const bytes = new Uint8Array(await response.arrayBuffer())
  const seen = sha256(bytes)
  if (seen !== entry.sha256) throw new Error(`${entry.path} is ${seen}, expected ${entry.sha256}`)
  mkdirSync(toolCache(), { recursive: true })
  writeFileSync(`${path}.new`, bytes)
  renameSync(`${path}.new`, path)
  return path
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** One file of a Debian package, extracted with Debian's own program. */
function readDebFile(archive: string, path: string): Uint8Array {
  const command = 'dpkg-deb --fsys-tarfile "$1" | tar -xOf - "./$2"'
  const { exitCode, stdout, stderr } = Bun.spawnSync(['sh', '-c', command, 'sh', archive, path])
  if (exitCode === 0 && stdout.length > 0) return new Uint8Array(stdout)
  throw new Error(`${path} cannot be read from ${basename(archive)}: ${stderr.toString().trim()}`)
}
