/** The compose file and the systemd unit, read by the programs they start and by systemd itself. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { program as gateway } from '../../apps/gateway/src/flags.ts'
import { program as proxy } from '../../apps/proxy/src/flag-table.ts'
import { readSettings } from '../../apps/proxy/src/settings.ts'
import { program as worker } from '../../apps/worker/src/settings.ts'
import { findTool } from '../../scripts/deploy/go-tools.ts'

const folder = join(import.meta.dir, '../../deploy')
const unitPath = join(folder, 'systemd/privatemode-proxy.service')
const unit = readFileSync(unitPath, 'utf8')
type Service = {
  image: string
  command?: string[]
  secrets?: string[]
  networks?: string[]
  ports?: string[]
  read_only?: boolean
  cap_drop?: string[]
}
const composePath = join(folder, 'compose.yaml')
const compose = Bun.YAML.parse(readFileSync(composePath, 'utf8')) as {
  services: Record<string, Service>
  secrets: Record<string, object>
  networks: Record<string, object>
}

test('every flag of the compose file is one of its program', () => {
  for (const [name, { flags }] of Object.entries({ gateway, worker, proxy })) {
    const used = compose.services[name]?.command?.map((arg) => /^--([^=]+)/.exec(arg)?.[1] ?? '')
    expect(Object.keys(flags)).toEqual(expect.arrayContaining(used ?? ['nothing']))
  }
})

test('the compose file publishes only on loopback, and our programs run without privileges', () => {
  for (const [name, service] of Object.entries(compose.services)) {
    for (const port of service.ports ?? []) expect(port).toStartWith('127.0.0.1:')
    for (const secret of service.secrets ?? []) expect(compose.secrets).toHaveProperty(secret)
    for (const network of service.networks ?? []) expect(compose.networks).toHaveProperty(network)
    if (name === 'postgres') continue
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  }
})

test('the images of the compose file have the version of the programs', () => {
  for (const [name, { version }] of Object.entries({ gateway, worker, proxy })) {
    expect(compose.services[name]?.image).toBe(`privatemode-${name}:${version}`)
  }
})

test("the unit's instructions create the folder that they install files into", () => {
  const steps = unit.split('\n').filter((line) => line.startsWith('#   install'))
  const into = steps.findIndex((line) => line.includes('/etc/privatemode/'))
  expect(steps[into - 1]).toBe('#   install -d -m 755 /etc/privatemode')
})

test('the proxy reads the command line of the systemd unit', () => {
  const [, line = ''] = /^ExecStart=\S+ (.*)$/m.exec(unit) ?? []
  const args = line.split(' ').map((arg) => arg.replace(/^@%d.*/, 'key'))
  const env = { PRIVATEMODE_PROXY_API_ENDPOINT: 'a:443', PRIVATEMODE_PROXY_MANIFEST_LOG_KEY: 'k' }
  const read = readSettings({ args, env })
  expect(read.kind === 'settings' && read.settings.workspace).toBe('%S/privatemode-proxy')
})

const loader = findTool('compose-go')
const noLoader = loader.kind === 'missing' ? loader.reason : undefined

unlessMissing(noLoader).test('the loader of compose accepts the file', () => {
  const load = (path: string, ...flags: string[]) => {
    const program = loader.kind === 'found' ? loader.path : ''
    const { exitCode, stderr, stdout } = Bun.spawnSync([program, ...flags, path], { env: {} })
    return { accepted: exitCode === 0, said: `${stdout}${stderr}` }
  }
  expect(load(composePath, '-no-interpolation')).toMatchObject({ accepted: true })
  const unset = load(composePath)
  expect(unset.accepted).toBe(false)
  for (const name of ['VLLM_URL', 'MANIFEST_LOG_KEY', 'SOFTWARE_ROOT']) {
    expect(unset.said).toContain(name)
  }
  const wrong = join(mkdtempSync(join(tmpdir(), 'privatemode-compose-')), 'compose.yaml')
  writeFileSync(wrong, readFileSync(composePath, 'utf8').replace('read_only:', 'read_onyl:'))
  expect(load(wrong, '-no-interpolation').accepted).toBe(false)
  rmSync(dirname(wrong), { recursive: true })
})

test('the unit keeps its memory off disks: no core dumps, no swap', () => {
  expect(unit).toMatch(/^LimitCORE=0$/m)
  expect(unit).toMatch(/^MemorySwapMax=0$/m)
})

const noAnalyze =
  Bun.which('systemd-analyze') === null ? 'systemd-analyze is not installed' : undefined

unlessMissing(noAnalyze).test('systemd understands the unit and finds it well closed', () => {
  const verify = Bun.spawnSync(['systemd-analyze', 'verify', unitPath])
  const faults = verify.stderr
    .toString()
    .split('\n')
    .filter((line) => line.includes('proxy.service'))
  // The program is not installed where the tests run.
  expect(faults.filter((line) => !line.includes('is not executable'))).toEqual([])
  const { stdout } = Bun.spawnSync(['systemd-analyze', 'security', '--offline=yes', unitPath])
  const level = /exposure level .*: ([0-9.]+)/.exec(stdout.toString())?.[1]
  expect(Number(level)).toBeLessThan(2)
})
