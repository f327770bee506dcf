/** `mountTsm` as a container runtime carries it out: with runc, on a folder in place of the kernel's. */
import { afterAll, expect } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { backend, chat } from './backend-values.ts'
import { chartFolder, find, type KubernetesObject, renderObjects, withoutHelm } from './render.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-tsm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bind = (source: string, destination: string, mode: 'ro' | 'rw') => ({
  ...{ source, destination, type: 'bind' },
  options: ['rbind', mode],
})
/** What every runtime of Kubernetes mounts, and this system's programs. */
const systemMounts = [
  { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: ['nosuid', 'noexec', 'ro'] },
  ...['/usr', '/lib', '/lib64'].map((path) => bind(path, path, 'ro')),
]

let started = 0

function runContainer(args: readonly string[], mounts: readonly object[]) {
  const name = `privatemode-test-${process.pid}-${started++}`
  const bundle = join(folder, name)
  mkdirSync(join(bundle, 'root'), { recursive: true })
  const capabilities = { bounding: [], effective: [], permitted: [] }
  const config = {
    ociVersion: '1.0.2',
    root: { path: 'root', readonly: true },
    process: { user: { uid: 0, gid: 0 }, cwd: '/', args, env: [], capabilities },
    mounts: [...systemMounts, ...mounts],
    linux: { namespaces: ['pid', 'mount', 'ipc'].map((type) => ({ type })) },
  }
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config))
  const command = ['runc', '--root', join(folder, 'state'), 'run', '--bundle', bundle, name]
  const { exitCode, stderr } = Bun.spawnSync(command, { stdin: 'ignore' })
  return { code: exitCode, output: stderr.toString().trim() }
}

function whyNot(): string | undefined {
  if (withoutHelm !== undefined) return withoutHelm
  if (Bun.which('runc') === null) return 'runc is not installed'
  if (process.getuid?.() !== 0) return 'runc needs root here'
  const { code, output } = runContainer(['/usr/bin/true'], [])
  return code === 0 ? undefined : `runc does not run here: ${output}`
}

unlessMissing(whyNot()).test(
  'a worker with mountTsm starts, and can create a report where it is told to',
  () => {
    const values = { ...backend, workers: [{ ...chat, mountTsm: true }] }
    const all = renderObjects(chartFolder('backend'), values)
    const [container] = find(all, 'Deployment', 'privatemode-worker-chat-demo').spec.template.spec
      .containers
    const [mount] = container.volumeMounts.filter(({ name }: KubernetesObject) => name === 'tsm')
    const path = container.args
      .find((arg: string) => arg.startsWith('--tsmPath='))
      ?.slice('--tsmPath='.length)
    const tsm = join(folder, 'tsm')
    mkdirSync(join(tsm, 'report'), { recursive: true })
    const made = runContainer(
      ['/usr/bin/mkdir', `${path}/entry`],
      [bind(tsm, mount.mountPath, 'rw')],
    )
    expect(made).toEqual({ code: 0, output: '' })
    expect(readdirSync(join(tsm, 'report'))).toEqual(['entry'])
  },
)
