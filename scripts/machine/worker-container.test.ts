/** The worker's container as the machine's own crun starts it, on the root that the machine has. */
import { afterAll, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { formatContainer } from '../../apps/machine/src/container.ts'
import { type MachineConfig, parseHostFacts } from '../../apps/machine/src/machine-config.ts'
import { formatBundle, formatWorkerArgs } from '../../apps/machine/src/worker-bundle.ts'
import { isFetched } from '../deploy/debian-root.ts'
import type { TarEntry } from '../deploy/oci/tar.ts'
import { readPackageList } from './packages.ts'
import { initPrograms, rootTree, treePackages, workerMain } from './trees.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-container-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const root = join(folder, 'root')
const init = join(folder, 'init')

/** Runs in place of the worker: creates a report entry where the worker would, and says so. */
const probe = `
import { mkdirSync } from 'node:fs'
const path = process.argv[process.argv.indexOf('--tsmPath') + 1]
mkdirSync(path + '/entry')
console.log('created an entry in ' + path)
`
const facts = { address: '10.0.2.15/24', route: '10.0.2.2', publicUrl: 'http://10.0.2.15:8095' }
const hostFacts = parseHostFacts(Buffer.from(JSON.stringify(facts)))
const production: MachineConfig = {
  gateway: { url: 'https://gateway.example' },
  port: 8095,
  outbound: [],
  models: [],
}

function place(under: string, entry: TarEntry): void {
  const path = join(under, entry.path)
  if (entry.kind === 'folder') mkdirSync(path, { recursive: true })
  else mkdirSync(dirname(path), { recursive: true })
  if (entry.kind === 'file') writeFileSync(path, entry.content, { mode: entry.mode })
  if (entry.kind === 'link') symlinkSync(entry.to, path)
}

let started = 0

/** In mounts of its own: crun accepts no other hierarchy of control groups than the machine's. */
function runBundle(bundle: object): { readonly code: number; readonly output: string } {
  const name = `privatemode-test-${process.pid}-${started++}`
  const path = join(folder, name)
  mkdirSync(path)
  // Without limits on resources: those of this system may be lower already.
  const withoutLimits = (key: string, value: unknown) => (key === 'rlimits' ? undefined : value)
  writeFileSync(join(path, 'config.json'), JSON.stringify(bundle, withoutLimits))
  const libraries = join(init, 'usr/lib/x86_64-linux-gnu')
  const { exitCode, stdout, stderr } = Bun.spawnSync([
    ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
    ...['mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"', 'sh'],
    ...[join(libraries, 'ld-linux-x86-64.so.2'), '--library-path', libraries],
    ...[join(init, 'usr/bin/crun'), '--root', join(folder, 'state')],
    ...['--cgroup-manager', 'disabled', 'run', '--bundle', path, name],
  ])
  return { code: exitCode, output: `${stdout}${stderr}`.trim() }
}

/** Why the machine's crun cannot run here, even with a container that has nothing of the worker's. */
async function prepare(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'needs Linux on x86-64'
  if (process.getuid?.() !== 0) return 'containers of the machine need root'
  const pinned = readPackageList().packages.filter(({ name }) => treePackages.includes(name))
  if (!pinned.every(isFetched)) {
    return 'the packages of the machine are not there; `npm run task -- build:machine` fetches them'
  }
  for (const { entry } of await initPrograms()) place(init, entry)
  for (const { entry } of await rootTree()) {
    if (!entry.path.startsWith('app/')) place(root, entry)
  }
  place(root, { kind: 'file', path: workerMain, mode: 0o644, content: Buffer.from(probe) })
  const empty = formatContainer({
    ...{ name: 'empty', root, user: { uid: 0, gid: 0 }, cwd: '/', network: 'machine', mounts: [] },
    ...{ args: ['/usr/bin/bun', '--version'], env: [] },
  })
  const { code, output } = runBundle(empty)
  return code === 0 ? undefined : `crun does not run here: ${output}`
}

unlessMissing(await prepare()).test(
  'the worker of a production machine starts, and can create an attestation report',
  () => {
    const made = (name: string) => {
      mkdirSync(join(folder, name))
      return join(folder, name)
    }
    const settings = made('settings')
    writeFileSync(join(settings, 'hosts'), '')
    // In place of the kernel's tree: a folder that belongs to root, as that one does.
    const reports = made('reports')
    const bundle = formatBundle({
      ...{ root, settings, weights: made('weights'), socket: made('socket'), reports },
      args: formatWorkerArgs(production, hostFacts),
    })
    // Here crun would create a missing mount point; in the machine the root is read-only.
    expect(mountPoints(bundle).filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(runBundle(bundle)).toEqual({ code: 0, output: 'created an entry in /run/reports' })
    expect(readdirSync(reports)).toEqual(['entry'])
  },
  60_000,
)

const mountPoints = (bundle: object) =>
  (bundle as { mounts: { destination: string }[] }).mounts.map(({ destination }) => destination)

test('only a worker with hardware reports is told where they are', () => {
  expect(formatWorkerArgs(production, hostFacts)).toContain('--tsmPath')
  const software = { ...production, softwareIdentity: {} }
  expect(formatWorkerArgs(software, hostFacts)).not.toContain('--tsmPath')
})
