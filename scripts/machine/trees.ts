/** The machine's contents, file by file with their origin: the initial disk and the worker's root. Only files named here are copied. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type AppTree, appTreeEntries } from '../deploy/app-tree.ts'
import { lockedFolder, repository } from '../deploy/locked-package.ts'
import type { TarEntry } from '../deploy/oci/tar.ts'
import { trackedFiles } from '../deploy/tracked-files.ts'
import type { CpioEntry } from './cpio.ts'
import { writeFirstProgram } from './first-program.ts'
import { collectModules } from './kernel-modules.ts'
import { Package } from './packages.ts'

export type Sourced<Entry> = { readonly entry: Entry; readonly origin: string }

const libraryFolder = 'usr/lib/x86_64-linux-gnu'
const loader = 'usr/lib64/ld-linux-x86-64.so.2'

/** Library by package. */
const runtimeLibraries: Readonly<Record<string, readonly string[]>> = {
  libc6: ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'ld-linux-x86-64.so.2'],
}
const initLibraries: Readonly<Record<string, readonly string[]>> = {
  ...runtimeLibraries,
  libcap2: ['libcap.so.2'],
  libseccomp2: ['libseccomp.so.2'],
  libsystemd0: ['libsystemd.so.0'],
  libyajl2: ['libyajl.so.2'],
  libnftables1: ['libnftables.so.1'],
  libmnl0: ['libmnl.so.0'],
  libnftnl11: ['libnftnl.so.11'],
  libjansson4: ['libjansson.so.4'],
  libxtables12: ['libxtables.so.12'],
  libedit2: ['libedit.so.2'],
  libtinfo6: ['libtinfo.so.6'],
  libbsd0: ['libbsd.so.0'],
  libmd0: ['libmd.so.0'],
  libgmp10: ['libgmp.so.10'],
}
/** The embedded engine is C++. */
const workerLibraries: Readonly<Record<string, readonly string[]>> = {
  ...runtimeLibraries,
  'libgcc-s1': ['libgcc_s.so.1'],
  'libstdc++6': ['libstdc++.so.6'],
}

const programPaths = { crun: 'usr/bin/crun', nftables: 'usr/sbin/nft' } as const

/** Every package that `initPrograms` and `rootTree` read. */
export const treePackages: readonly string[] = [
  ...new Set([
    ...Object.keys({ ...programPaths, ...initLibraries, ...workerLibraries }),
    'ca-certificates',
  ]),
]

/** What init starts besides Bun, with the libraries of these programs. */
export async function initPrograms(): Promise<Sourced<TarEntry>[]> {
  return [...(await programs(programPaths)), ...(await libraries(initLibraries))]
}

export async function initrdTree(kernel: Package): Promise<Sourced<CpioEntry>[]> {
  const init = initSources().map((path) => ({
    entry: file(`machine/${basename(path)}`, read(join(repository, path))),
    origin: path,
  }))
  const modules = collectModules(kernel).map(({ name, from, content }, index) => ({
    entry: file(`machine/modules/${String(index).padStart(2, '0')}-${name}.ko`, content),
    origin: `${kernel.name}:${from}`,
  }))
  return [
    first(),
    ...init,
    ...modules,
    bun(),
    ...(await initPrograms()),
    ...['proc', 'sys', 'run', 'tmp', 'newroot'].map((path) => ours(folder(path))),
    // Before the kernel's own tree of devices is mounted.
    ours({ kind: 'device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 }),
    ours({ kind: 'device', path: 'dev/null', mode: 0o666, major: 1, minor: 3 }),
  ]
}

/** The sources of init, which lie in one folder. */
export function initSources(root = repository): string[] {
  return trackedFiles([':(glob)apps/machine/src/*.ts'], root).filter(
    (path) => !path.endsWith('.test.ts'),
  )
}

function first(): Sourced<TarEntry> {
  const content = writeFirstProgram({
    command: ['/usr/bin/bun', '--no-install', '--no-env-file', '/machine/main.ts'],
    environment: ['HOME=/tmp', 'BUN_RUNTIME_TRANSPILER_CACHE_PATH=0'],
  })
  return {
    entry: file('machine/first', content, 0o755),
    origin: 'scripts/machine/first-program.ts',
  }
}

/** The worker with its embedded engine, without prebuilt engines for other systems. */
const workerTree: AppTree = { folder: 'apps/worker', leaveOut: [], leaveOutFolders: [] }
/** What init starts. */
export const workerMain = 'app/apps/worker/src/main.ts'
const engineBinaries = '@node-llama-cpp/linux-x64'

export async function rootTree(): Promise<Sourced<TarEntry>[]> {
  const app = appTreeEntries(workerTree).map((entry) => ({ entry, origin: originOf(entry.path) }))
  const binaries = lockedFolder(engineBinaries)
  const engine = readdirSync(binaries, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(binaries.length + 1))
    .map((name) => ({
      entry: file(`app/node_modules/${engineBinaries}/${name}`, read(join(binaries, name))),
      origin: `npm:${engineBinaries}`,
    }))
  return [
    ...app,
    ...engine,
    bun(),
    ...(await libraries(workerLibraries)),
    await authorities(),
    ours(file('etc/passwd', Buffer.from('root:x:0:0:root:/:/none\n'))),
    ours(file('etc/group', Buffer.from('root:x:0:\n'))),
    ours(file('etc/nsswitch.conf', Buffer.from('hosts: files\n'))),
    ours(file('etc/hosts', new Uint8Array(0))),
    // Mount points: the root is read-only, so none can be created later.
    ...['proc', 'sys', 'dev', 'tmp', 'weights', 'run/privatemode', 'run/reports', 'run/server'].map(
      (path) => ours(folder(path)),
    ),
  ]
}

function bun(): Sourced<TarEntry> {
  const name = '@oven/bun-linux-x64'
  const content = read(join(lockedFolder(name), 'bin', 'bun'))
  return { entry: file('usr/bin/bun', content, 0o755), origin: `npm:${name}` }
}

async function programs(list: Readonly<Record<string, string>>): Promise<Sourced<TarEntry>[]> {
  return Promise.all(
    Object.entries(list).map(async ([name, path]) => ({
      entry: file(path, (await Package.open(name)).file(path), 0o755),
      origin: `${name}:${path}`,
    })),
  )
}

async function libraries(
  list: Readonly<Record<string, readonly string[]>>,
): Promise<Sourced<TarEntry>[]> {
  const found: Sourced<TarEntry>[] = []
  for (const [name, files] of Object.entries(list)) {
    const opened = await Package.open(name)
    for (const library of files) {
      const path = `${libraryFolder}/${library}`
      found.push({ entry: file(path, opened.file(path), 0o755), origin: `${name}:${path}` })
    }
  }
  // Programs refer to their loader by this path; in Debian it is reached through links.
  found.push(ours({ kind: 'link', path: 'lib64', mode: 0o777, to: 'usr/lib64' }))
  found.push(ours({ kind: 'link', path: 'lib', mode: 0o777, to: 'usr/lib' }))
  found.push(
    ours({
      kind: 'link',
      path: loader,
      mode: 0o777,
      to: `../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2`,
    }),
  )
  return found
}

/** All authorities that Debian trusts, as one file: those of the gateway and of vendors' collateral hosts are among them. */
async function authorities(): Promise<Sourced<TarEntry>> {
  const opened = await Package.open('ca-certificates')
  const folderPath = 'usr/share/ca-certificates/mozilla/'
  const all = opened
    .paths()
    .filter((path) => path.startsWith(folderPath) && path.endsWith('.crt'))
    .sort()
  const content = Buffer.concat(all.map((path) => Buffer.from(opened.file(path))))
  return {
    entry: file('etc/ssl/certs/ca-certificates.crt', content),
    origin: `ca-certificates:${folderPath}`,
  }
}

function originOf(path: string): string {
  const module = /^app\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
  return module === undefined || module.startsWith('@privatemode/')
    ? path.replace(/^app\//, '')
    : `npm:${module}`
}

const read = (path: string) => new Uint8Array(readFileSync(path))
const ours = <Entry>(entry: Entry): Sourced<Entry> => ({
  entry,
  origin: 'scripts/machine/trees.ts',
})
const folder = (path: string): TarEntry => ({ kind: 'folder', path, mode: 0o755 })
const file = (path: string, content: Uint8Array, mode = 0o644): TarEntry => ({
  kind: 'file',
  path,
  mode,
  content,
})
