/** What init accepts and refuses before it opens anything. */
import { expect, test } from 'bun:test'
import { formatCommandLine, type Launch, parseCommandLine, variants } from './command-line.ts'
import { formatMessage, formatTable } from './device-mapper.ts'
import {
  formatMachineConfig,
  type MachineConfig,
  parseHostFacts,
  parseMachineConfig,
  trimDocument,
} from './machine-config.ts'
import {
  formatDefaultRoute,
  formatHosts,
  formatInterface,
  formatMachineRules,
  formatResolverRules,
  netmask,
} from './network.ts'
import { formatServerBundle } from './server-bundle.ts'
import { formatBundle, formatModels, formatWorkerArgs } from './worker-bundle.ts'

const launch: Launch = {
  variant: 'production',
  root: { hash: 'ab'.repeat(32), blocks: 1000 },
  config: 'cd'.repeat(32),
}
const volume = { label: 'weights-tiny', root: 'ef'.repeat(32), blocks: 7 }
const config: MachineConfig = {
  gateway: { url: 'https://gateway.example' },
  port: 8095,
  outbound: ['https://kdsintf.amd.com'],
  models: [{ id: 'tiny', task: 'generate', file: 'model.gguf', volume }],
}
const host = {
  address: '10.0.2.15/24',
  route: '10.0.2.2',
  publicUrl: 'http://10.0.2.15:8095',
}
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
const document = { version: 1, ...config }

test('a command line parses to what it was formatted from, and other arguments are allowed', () => {
  for (const variant of variants) {
    const line = formatCommandLine({ ...launch, variant })
    expect(parseCommandLine(`initrd=initrd ${line}\n`)).toEqual({ ...launch, variant })
  }
})

test('every variant has its own command line and so its own measurement; only debug has a console', () => {
  const lines = variants.map((variant) => formatCommandLine({ ...launch, variant }))
  expect(new Set(lines).size).toBe(variants.length)
  expect(lines.filter((line) => line.includes('console=ttyS0')).length).toBe(1)
  for (const line of lines) expect(line).toContain('lockdown=confidentiality')
})

test('an unknown, duplicate, missing or invalid key stops the machine', () => {
  const line = formatCommandLine(launch)
  for (const wrong of [
    `${line} pm.root=${'00'.repeat(32)}`,
    `${line} pm.shell=1`,
    line.replace(/pm\.config=\S+/, ''),
    line.replace('pm.variant=production', 'pm.variant=test'),
    line.replace('pm.root_blocks=1000', 'pm.root_blocks=0'),
    line.replace('pm.root=ab', 'pm.root=AB'),
  ]) {
    expect(() => parseCommandLine(wrong)).toThrow('command line')
  }
})

test('a configuration parses to what was formatted, ignoring trailing zeros on its disk', () => {
  const text = Buffer.from(formatMachineConfig(config))
  const disk = Buffer.concat([text, Buffer.alloc(4096)])
  expect(parseMachineConfig(trimDocument(disk), 'production')).toEqual(config)
  expect(() => trimDocument(Buffer.alloc(512))).toThrow()
})

test('a configuration with unknown, missing or invalid fields is refused', () => {
  const model = config.models[0]
  for (const wrong of [
    { ...document, shell: true },
    { ...document, version: 2 },
    { ...document, port: 0 },
    { ...document, models: [] },
    { ...document, models: [model, model] },
    { ...document, models: [{ ...model, file: '../../etc/passwd' }] },
    { ...document, models: [{ ...model, volume: { ...volume, root: 'x' } }] },
    { ...document, models: [{ ...model, volume: { ...volume, label: 'root' } }] },
    { ...document, gateway: { url: 'http://gateway.example' } },
    { ...document, outbound: ['http://kds.example'] },
    { ...document, softwareIdentity: {} },
    [],
    'text',
  ]) {
    expect(() => parseMachineConfig(bytes(wrong), 'production')).toThrow()
  }
  expect(() => parseMachineConfig(bytes(document), 'software')).toThrow('identity')
})

test("the host's document has a strict format", () => {
  expect(parseHostFacts(bytes(host))).toMatchObject({ address: '10.0.2.15', prefix: 24 })
  for (const wrong of [
    { ...host, address: '10.0.2.15' },
    { ...host, address: '10.0.2.15/33' },
    { ...host, address: '::1/64' },
    { ...host, route: 'gateway; accept' },
    { ...host, resolver: '1.2.3' },
    { ...host, mtu: 1 },
    { ...host, init: '/bin/sh' },
  ]) {
    expect(() => parseHostFacts(bytes(wrong))).toThrow()
  }
})

test("a device mapper table has the kernel's layout", () => {
  const table = formatTable(volume, '/dev/vdb', 'error')
  expect(table).toMatch(/^1 \/dev\/vdb \/dev\/vdb 4096 4096 7 7 sha256 (ef){32} [0-9a-f]{64}$/)
  expect(formatTable(volume, '/dev/vdb', 'panic')).toEndWith(' 1 panic_on_corruption')
  const message = Buffer.from(formatMessage(volume, { table }))
  expect(message.readUInt32LE(0)).toBe(4)
  expect(message.readUInt32LE(12)).toBe(message.length)
  expect(message.readUInt32LE(16)).toBe(312)
  expect(message.readUInt32LE(20)).toBe(1)
  expect(message.toString('latin1', 48, 60)).toBe('weights-tiny')
  expect(message.readBigUInt64LE(320)).toBe(56n)
  expect(message.toString('latin1', 336, 342)).toBe('verity')
  expect(message.toString('latin1', 352, 352 + table.length + 1)).toBe(`${table}\0`)
  expect(message.length % 8).toBe(0)
})

test("network structures have the kernel's layout", () => {
  const request = Buffer.from(formatInterface((one) => one.writeInt16LE(0x41, 16)))
  expect([request.length, request.toString('latin1', 0, 5), request.readInt16LE(16)]).toEqual([
    40,
    'eth0\0',
    0x41,
  ])
  const route = Buffer.from(formatDefaultRoute('10.0.2.2'))
  expect([...route.subarray(24, 32)]).toEqual([2, 0, 0, 0, 10, 0, 2, 2])
  expect([route.length, route.readUInt16LE(56)]).toEqual([120, 3])
  expect([0, 8, 24, 30, 32].map(netmask)).toEqual([
    '0.0.0.0',
    '255.0.0.0',
    '255.255.255.0',
    '255.255.255.252',
    '255.255.255.255',
  ])
})

test('the rules allow outbound traffic to the named hosts and inbound to the port, and drop the rest', () => {
  const reachable = [{ host: 'gateway.example', port: 443, addresses: ['192.0.2.1', '192.0.2.2'] }]
  const rules = formatMachineRules(8095, reachable)
  expect(rules.match(/policy drop/g)?.length).toBe(3)
  expect(rules.match(/accept/g)?.length).toBe(5)
  expect(rules).toContain('ip daddr 192.0.2.2 tcp dport 443 accept')
  expect(formatResolverRules(undefined).match(/accept/g)?.length).toBe(2)
  expect(formatHosts(reachable)).toContain('192.0.2.1 gateway.example\n')
})

const workerPlaces = {
  ...{ root: '/run/root', settings: '/run/settings', weights: '/run/weights' },
  socket: undefined,
}

test('reports are mounted outside sysfs, where the worker is told to look for them', () => {
  const args = formatWorkerArgs(config, parseHostFacts(bytes(host)))
  const reports = '/sys/kernel/config/tsm/report'
  const bundle = formatBundle({ ...workerPlaces, reports, args })
  const { mounts } = JSON.parse(JSON.stringify(bundle))
  const [mount] = mounts.filter(({ source }: { source: string }) => source === reports)
  expect(mount).toMatchObject({ destination: args[args.indexOf('--tsmPath') + 1] })
  expect(mount.destination).not.toStartWith('/sys')
  expect(mount.options).toContain('rw')
})

test('the worker runs without capabilities, new privileges or a writable root', () => {
  const facts = parseHostFacts(bytes(host))
  const args = formatWorkerArgs(config, facts)
  const bundle = JSON.stringify(formatBundle({ ...workerPlaces, reports: undefined, args }))
  expect(JSON.parse(bundle)).toMatchObject({
    root: { readonly: true },
    process: { noNewPrivileges: true, capabilities: { bounding: [], effective: [] } },
  })
  expect(bundle).not.toContain('/sys/kernel/config')
  expect(formatWorkerArgs(config, facts)).not.toContain('--allowPlainGateway')
  expect(formatModels(config)).toEqual([
    {
      id: 'tiny',
      task: 'generate',
      path: '/weights/weights-tiny/model.gguf',
      verity_root: volume.root,
    },
  ])
})

const server = {
  image: `sha256:${'12'.repeat(32)}`,
  volume: { label: 'server', root: '34'.repeat(32), blocks: 9 },
  command: ['/usr/bin/vllm', 'serve', '/weights/weights-tiny'],
  environment: ['PATH=/usr/bin', 'HOME=/cache'],
  directory: '/',
}
const { file: _, ...wholeVolume } = config.models[0] ?? { file: '' }
const served = { ...config, models: [wholeVolume], server } as MachineConfig

test('a model server is part of the configuration, whose models may be whole volumes then', () => {
  const text = Buffer.from(formatMachineConfig(served))
  expect(parseMachineConfig(text, 'production')).toEqual(served)
  expect(formatModels(served)).toMatchObject([{ path: '/weights/weights-tiny' }])
  const facts = parseHostFacts(bytes(host))
  expect(formatWorkerArgs(served, facts)).toContain('unix:/run/server/server.sock')
  expect(formatWorkerArgs(config, facts).join()).not.toContain('unix:')
  for (const wrong of [
    { models: [wholeVolume], server: undefined },
    { server: { ...server, image: 'vllm:latest' } },
    { server: { ...server, volume } },
    { server: { ...server, volume: { ...server.volume, root: 'x' } } },
    { server: { ...server, command: [] } },
    { server: { ...server, command: ['vllm'] } },
    { server: { ...server, command: ['/usr/bin/vllm', 1] } },
    { server: { ...server, command: ['/usr/bin/vllm', 'a\0b'] } },
    { server: { ...server, environment: ['PATH'] } },
    { server: { ...server, directory: 'tmp' } },
    { server: { ...server, user: 'root' } },
    { server: null },
    { server: 'vllm' },
  ]) {
    const document = bytes({ version: 1, ...served, ...wrong })
    expect(() => parseMachineConfig(document, 'production')).toThrow()
  }
})

test('the model server is not root, has no network of the machine and no settings of the worker', () => {
  const paths = { root: '/run/server-root', weights: '/run/weights', socket: '/run/socket' }
  const bundle = JSON.parse(JSON.stringify(formatServerBundle({ server, ...paths })))
  expect(bundle).toMatchObject({
    root: { path: '/run/server-root', readonly: true },
    process: {
      user: { uid: 1000, gid: 1000 },
      noNewPrivileges: true,
      capabilities: { bounding: [], effective: [] },
      env: ['PATH=/usr/bin', 'HOME=/cache', 'USER=server', 'LOGNAME=server'],
    },
  })
  expect(bundle.linux.namespaces).toContainEqual({ type: 'network' })
  const sources = bundle.mounts.map(({ source }: { source: string }) => source)
  expect(sources.filter((one: string) => one.startsWith('/'))).toEqual([
    '/run/weights',
    '/run/socket',
  ])
})
