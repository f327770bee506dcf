/**
 * `npm run task -- test:machine [options]`: builds the machine twice, compares, measures, boots it in QEMU, chats with
 * it and attacks it; prints a table.
 *
 *   --fast          builds once and asks no other calculators
 *   --qemu PROGRAM  an emulator other than the pinned one
 *   --write         writes the table into docs/machine.md; not with --fast
 *
 * Needs Linux on x86-64, dpkg-deb, xz and apt-get, and no rights.
 */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatManifest } from '@privatemode/attestation'
import {
  authenticodeSha384,
  digestFirmware,
  measureTd,
  parseFirmware,
  readTdvfMetadata,
} from '@privatemode/attestation/measure'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import { type MachineConfig, serverSocket } from '@privatemode/machine'
import { freePort } from '@privatemode/service/testing'
import { measureSources } from '@privatemode/worker/measurement'
import { ensureModel } from '../../apps/stack/src/models/index.ts'
import { measureSnp, measureTdx } from '../../apps/verify/src/measure/measurements.ts'
import { repository } from '../../scripts/deploy/locked-package.ts'
import { buildMachine } from '../../scripts/machine/build.ts'
import { Package } from '../../scripts/machine/packages.ts'
import { buildServer } from '../../scripts/machine/server.ts'
import { buildWeights } from '../../scripts/machine/weights.ts'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { formatRows, must, Rows } from '../confined/rows.ts'
import { writeBetween } from '../confined/write-between.ts'
import { type RunningProgram, startProgram } from '../deploy/running-program.ts'
import { compareCalculators } from './calculators.ts'
import { elsewhereLater } from './elsewhere-later.ts'
import { obtainQemu } from './qemu.ts'
import { writeHostileImage, writeLlamaServerImage } from './server-images.ts'
import { hostAddress, startMachine, type VirtualMachine } from './virtual-machine.ts'

/** How a read of a block that was changed ends. */
const unreadable = /EIO|I\/O error|input\/output error/i
/** The same, on a volume whose programs run. */
const corrupted = /dm-verity device corrupted/
const { values } = parseTaskArguments({
  options: {
    fast: { type: 'boolean', default: false },
    qemu: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
if (values.write && values.fast) {
  console.error('--write needs the whole run: leave --fast out')
  process.exit(2)
}
const rows = new Rows(async () => '')
/** The emulator that it was. */
let emulator = ''
const work = mkdtempSync(join(tmpdir(), 'privatemode-machine-'))
const running: RunningProgram[] = []
const registerToken = 'register-token-for-tests-0123456789abcdef'
const adminToken = 'admin-token-for-tests-0123456789abcdef'
/** Emulated, beside other work of the system. */
const bootMs = 1_200_000

const sha256 = (path: string) =>
  new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const program = (path: string) => [process.execPath, '--no-install', join(repository, path)]

try {
  await main()
} finally {
  for (const one of running.toReversed()) await one.stop()
  rmSync(work, { recursive: true, force: true })
}
console.log(`\n${formatRows(rows.all)}`)
if (values.write) {
  const date = new Date().toISOString().slice(0, 10)
  writeBetween(
    'machine',
    `${date}, QEMU ${emulator}:\n\n${formatRows(rows.all)}`,
    'docs/machine.md',
  )
}
process.exitCode = rows.all.every(({ result }) => result === 'yes') ? 0 : 1

async function main(): Promise<void> {
  const model = await ensureModel('stories15m', { cacheDir: join(tmpdir(), 'privatemode-models') })
  const weightsFolder = join(work, 'weights')
  mkdirSync(weightsFolder)
  copyFileSync(model.path, join(weightsFolder, 'model.gguf'))
  const weights = join(work, 'weights-tiny.img')
  const volume = await buildWeights(weightsFolder, 'weights-tiny', weights)
  const root = await createSoftwareRoot({ name: 'machine test', at: new Date(), days: 2 })
  const leaf = await issueSoftwareLeaf(root, { name: 'worker', at: new Date(), days: 1 })
  const gatewayPort = listenBeside()
  const config: MachineConfig = {
    gateway: { url: `http://${hostAddress}:${gatewayPort}` },
    port: 8095,
    outbound: [],
    models: [
      {
        id: 'tiny',
        task: 'generate',
        file: 'model.gguf',
        volume,
        displayName: 'Tiny',
        contextLength: 256,
      },
    ],
    softwareIdentity: JSON.parse(new TextDecoder().decode(await formatSoftwareIdentity(leaf))),
  }
  const machine = join(work, 'one')
  await rows.try('it builds from pinned packages without rights', async () => {
    await buildMachine({ variant: 'software', config, out: machine })
    const { files, packages } = JSON.parse(readFileSync(join(machine, 'machine.json'), 'utf8'))
    return `${files.initrd.length} files in the initial disk, ${files.root.length} in the root, ${packages.length} packages`
  })
  if (!values.fast) {
    await rows.try('two builds in two folders are the same bytes', async () => {
      const other = join(work, 'a-folder-with-a-longer-name', 'two')
      await elsewhereLater(() => buildMachine({ variant: 'software', config, out: other }))
      const names = ['machine.json', ...Object.keys(readIndex(machine).artefacts)]
      for (const name of names) {
        must(sha256(join(machine, name)) === sha256(join(other, name)), `${name} differs`)
      }
      return `${names.length} files equal, by clocks two days apart`
    })
  }
  await rows.try('firmware and kernel of Debian measure as recorded', () =>
    compareRecorded(machine),
  )
  await rows.try('TDX registers follow from the files, each event with its basis', () =>
    measureRegisters(machine),
  )
  if (!values.fast) {
    await rows.try('launch digests equal those of other calculators', () =>
      compareCalculators(machine),
    )
  }
  await rows.try('another command line is another measurement', async () => {
    const line = readFileSync(join(machine, 'cmdline'), 'utf8')
    const digests = await Promise.all(
      [
        line,
        `${line} init=/bin/sh`,
        line.replace('pm.variant=software', 'pm.variant=production'),
      ].map((commandLine) => launchDigest(machine, commandLine)),
    )
    must(new Set(digests).size === 3, 'two command lines have one digest')
    return `EPYC-Milan, 2 vCPUs: ${digests[0]}`
  })

  const gatewayUrl = `http://127.0.0.1:${gatewayPort}`
  await start('gateway is ready', [
    ...program('apps/gateway/src/main.ts'),
    ...['--host', '127.0.0.1', '--port', `${gatewayPort}`, '--adminToken', adminToken],
    ...['--registerToken', registerToken, '--dataDir', join(work, 'database')],
  ])
  const inside = freePort()
  const closed = [22, 80, 443, 8096].map((port) => [port, freePort()] as const)
  const firmware = join(work, 'firmware.fd')
  writeFileSync(firmware, (await Package.open('ovmf-generic')).file('usr/share/ovmf/OVMF.fd'))
  const qemu = await obtainQemu(values.qemu)
  emulator = qemu.version
  const launch: VirtualMachine = {
    qemu,
    machine,
    firmware,
    work: join(work, 'disks'),
    disks: [
      { serial: 'root', file: join(machine, 'root.img') },
      { serial: 'weights-tiny', file: weights },
    ],
    ports: { 8095: inside, ...Object.fromEntries(closed) },
    host: {
      address: '10.0.2.15/24',
      route: hostAddress,
      publicUrl: `http://127.0.0.1:${inside}`,
    },
  }
  const guest = startMachine(launch)
  running.push(guest)
  await rows.try(
    'it boots with firmware, and the worker waits for its register token',
    async () => {
      const started = performance.now()
      await untilWaiting(guest)
      const seconds = Math.round((performance.now() - started) / 1000)
      return `after ${seconds} s; ${guest.output().match(/machine: volumes are open.*/)?.[0]}`
    },
  )
  const fingerprint = await softwareRootFingerprint(root)
  const manifest = join(work, 'manifest.json')
  writeFileSync(manifest, manifestFor(fingerprint, volume.root))
  await rows.try(
    'the token is sealed to it after its evidence was verified, and it registers',
    async () => {
      const said = await provision(guest)
      must(!guest.output().includes(registerToken), 'the token is in the output')
      return said
    },
  )

  async function provision(guest: RunningProgram): Promise<string> {
    const tokenFile = join(work, 'register-token')
    writeFileSync(tokenFile, registerToken)
    const provisioned = Bun.spawnSync([
      ...[...program('apps/verify/src/main.ts'), 'provision', `http://127.0.0.1:${inside}`],
      ...['--manifest', manifest, '--token', `@${tokenFile}`, '--software-root', fingerprint],
    ])
    must(provisioned.exitCode === 0, provisioned.stderr.toString())
    await guest.until(/worker is ready|machine: stopped/, bootMs)
    must(!guest.output().includes('machine: stopped'), guest.output())
    return provisioned.stdout.toString().trim()
  }

  const proxyPort = freePort()
  const ask = () =>
    fetch(`http://127.0.0.1:${proxyPort}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"tiny","max_tokens":8,"messages":[{"role":"user","content":"Once upon a time"}]}',
      signal: AbortSignal.timeout(bootMs),
    })
  await rows.try('a sealed chat is answered by the model on its verity volume', async () => {
    await start('msg=ready', [
      ...program('apps/proxy/src/main.ts'),
      ...['--listenAddress', '127.0.0.1', '--port', `${proxyPort}`, '--apiEndpoint', gatewayUrl],
      ...[
        '--workspace',
        join(work, 'proxy'),
        '--manifestPath',
        manifest,
        '--allowSoftwareAttestation',
      ],
      ...['--softwareRootFingerprint', fingerprint, '--apiKey', await createKey(gatewayUrl)],
    ])
    const response = await ask()
    const text = await response.text()
    must(response.status === 200, text)
    return JSON.stringify(JSON.parse(text).choices[0].message.content)
  })
  await rows.try('only the port of the worker answers', async () => {
    const open = await Promise.all(
      closed.map(async ([port, outside]) => ((await answers(outside)) ? [port] : [])),
    )
    must(open.flat().length === 0, `ports ${open.flat().join(', ')} answer`)
    return `${closed.map(([port]) => port).join(', ')} are silent`
  })
  await rows.try('what it prints has nothing of the chat', async () => {
    must(!/upon a time/i.test(guest.output()), 'the prompt is in the output')
    return `${guest.output().split('\n').length} lines`
  })
  await rows.try(
    'pulling the plug ends the worker, and leaves its disks as they were',
    async () => {
      const before = sha256(weights)
      await guest.stop()
      must(sha256(weights) === before, 'the weights changed')
      const response = await ask()
      must(response.status >= 500, `answered ${response.status}`)
      return `then the proxy answers ${response.status}`
    },
  )

  await rows.try('a hostile program in place of the worker gets nowhere', async () => {
    const hostile = join(work, 'hostile')
    const { ports: _, ...rest } = launch
    await buildMachine({
      ...{ variant: 'software', config, out: hostile },
      program: join(import.meta.dir, 'hostile-program.ts'),
    })
    const guest = startMachine({
      ...{ ...rest, machine: hostile, ports: {}, work: join(work, 'hostile-disks') },
      disks: [{ serial: 'root', file: join(hostile, 'root.img') }, rest.disks[1] ?? fail()],
    })
    running.push(guest)
    await guest.until(/trial: end|machine: stopped/, bootMs)
    await guest.stop()
    return judgeTrials(guest.output(), ['the gateway on its port'], 20)
  })

  /** A machine with a model server, whose models are the same as before. */
  async function startWithServer(name: string, archive: string, args: readonly string[]) {
    const volumeFile = join(work, `${name}.img`)
    const built = await buildServer({ layout: archive, out: volumeFile })
    const server = { ...built, command: [...built.command, ...args] }
    const out = join(work, name)
    await buildMachine({ variant: 'software', config: { ...config, server }, out })
    const disks = [
      { serial: 'root', file: join(out, 'root.img') },
      { serial: 'server', file: volumeFile },
      { serial: 'weights-tiny', file: weights },
    ]
    const served = { ...launch, machine: out, disks, work: join(work, `${name}-disks`) }
    const guest = startMachine(served)
    running.push(guest)
    let isGone = false
    void guest.exited.then(() => {
      isGone = true
    })
    await untilWaiting(guest)
    await provision(guest)
    // The gateway may still know the machine before it.
    for (const endsAt = performance.now() + bootMs; ; ) {
      const response = await ask()
      const text = await response.text()
      if (response.status === 200) {
        const content: string = JSON.parse(text).choices[0].message.content
        return { guest, server, served, content }
      }
      must(!isGone, `the machine ended: ${guest.output()}`)
      must(performance.now() < endsAt, text)
      await Bun.sleep(1000)
    }
  }

  let withServer: { readonly served: VirtualMachine; readonly program: string } | undefined
  await rows.try('a model server on its own verity volume answers a sealed chat', async () => {
    const archive = join(work, 'llama-server.tar')
    const program = await writeLlamaServerImage(archive)
    const { guest, server, served, content } = await startWithServer('llama-server', archive, [
      ...['--model', '/weights/weights-tiny/model.gguf', '--alias', 'tiny'],
      ...['--host', serverSocket, '--ctx-size', '512', '--threads', '1', '--parallel', '1'],
    ])
    withServer = { served, program }
    const using = /http llama-server [^;"]*/.exec(guest.output())?.[0]
    must(using !== undefined, guest.output())
    must(
      !/upon a time|llama_server|srv /i.test(guest.output()),
      "the server's output is not hidden",
    )
    await guest.stop()
    return `${using}, volume ${server.volume.root.slice(0, 16)}…: ${JSON.stringify(content)}`
  })
  await rows.try('a hostile model server gets nowhere', async () => {
    const archive = join(work, 'hostile-server.tar')
    await writeHostileImage(archive, join(import.meta.dir, 'hostile-program.ts'))
    const { guest, content } = await startWithServer('hostile-server', archive, [
      ...['--gatewayUrl', config.gateway.url, '--listen', serverSocket],
    ])
    await guest.stop()
    return judgeTrials(content, ['its own loopback'], 27)
  })
  if (withServer !== undefined) {
    const { served, program } = withServer
    await refused(
      "a flipped bit in the model server's volume",
      served,
      corrupted,
      async (changed) => {
        const disks = changed.disks.map(({ serial, file }) => {
          if (serial !== 'server') return { serial, file }
          return { serial, file: flipBit(file, `${file}-flipped`, blockOf(file, program)) }
        })
        return { ...changed, disks, commandLine: heardKernel(changed.machine) }
      },
    )
  }

  await refused('a flipped bit in the root', launch, corrupted, async (changed) => {
    const file = flipBit(
      join(machine, 'root.img'),
      join(work, 'root-flipped.img'),
      blockOf(join(machine, 'root.img'), process.execPath),
    )
    const disks = [{ serial: 'root', file }, changed.disks[1] ?? fail()]
    return { ...changed, disks, commandLine: heardKernel(machine) }
  })
  await refused('a flipped bit in the weights', launch, unreadable, async (changed) => {
    const file = flipBit(weights, join(work, 'weights-flipped.img'), blockOf(weights, model.path))
    return { ...changed, disks: [changed.disks[0] ?? fail(), { serial: 'weights-tiny', file }] }
  })
  await stopped(
    'the production variant runs its worker, which finds no confidential processor and stops',
    launch,
    /error: \/run\/reports has no provider/,
    async (changed) => {
      const { softwareIdentity: _, ...rest } = config
      const hardware = { ...rest, gateway: { url: `https://${hostAddress}:${gatewayPort}` } }
      const production = join(work, 'production')
      await buildMachine({ variant: 'production', config: hardware, out: production })
      const disks = [
        { serial: 'root', file: join(production, 'root.img') },
        changed.disks[1] ?? fail(),
      ]
      const line = readFileSync(join(production, 'cmdline'), 'utf8')
      // Only the software variant has it; without it, the kernel may not trust an emulated timer.
      return { ...changed, machine: production, disks, commandLine: `${line} no_timer_check` }
    },
  )
  await refused('another configuration', launch, /config/, async (changed) => {
    const copy = join(work, 'other-config')
    mkdirSync(copy)
    for (const name of ['kernel', 'initrd', 'cmdline', 'config.json'])
      copyFileSync(join(machine, name), join(copy, name))
    appendFileSync(join(copy, 'config.json'), ' ')
    return { ...changed, machine: copy }
  })
  await refused(
    'a second root on the command line',
    launch,
    /duplicate pm\.root/,
    async (changed) => ({
      ...changed,
      commandLine: `${readFileSync(join(machine, 'cmdline'), 'utf8')} pm.root=${'0'.repeat(64)}`,
    }),
  )
}

async function untilWaiting(guest: RunningProgram): Promise<void> {
  await guest.until(/waiting for a register token|machine: stopped/, bootMs)
  must(!guest.output().includes('machine: stopped'), guest.output())
}

function judgeTrials(output: string, expected: readonly string[], count: number): string {
  const trials = [...output.matchAll(/^trial: (.*): (allowed|refused)(.*)$/gm)]
  const allowed = trials.flatMap(([, trial = '', verdict]) =>
    verdict === 'allowed' ? [trial] : [],
  )
  must(allowed.join() === expected.join(), `allowed: ${allowed.join(', ') || 'nothing'}`)
  must(trials.length >= count, output)
  return `${trials.length - allowed.length} trials refused, allowed only: ${allowed.join(', ')}`
}

/** A free port whose successor answers: what must not be reached from inside has to be there. */
function listenBeside(): number {
  for (;;) {
    const port = freePort()
    try {
      const server = Bun.serve({
        hostname: '127.0.0.1',
        port: port + 1,
        fetch: () => new Response(),
      })
      server.unref()
      return port
    } catch {} // taken: another pair
  }
}

function manifestFor(root: string, weights: string): Uint8Array {
  const measurements = [hex(measureSources())]
  return formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [{ kind: 'software', measurements, root, minimum_tcb: 1 }] } },
    models: [
      {
        id: 'tiny',
        digest: `sha256:${weights}`,
        tasks: ['generate'],
        contextLength: 256,
        displayName: 'Tiny',
        created: 0,
      },
    ],
  })
}

function fail(): never {
  throw new Error('no such disk')
}

type Change = (launch: VirtualMachine) => Promise<VirtualMachine>

function refused(name: string, launch: VirtualMachine, because: RegExp, change: Change) {
  return stopped(`${name} is refused`, launch, because, change)
}

/** The machine must be gone without its worker ever being ready, and say why: otherwise, one that crashed would pass. */
async function stopped(
  claim: string,
  launch: VirtualMachine,
  because: RegExp,
  change: Change,
): Promise<void> {
  await rows.try(claim, async () => {
    const changed = await change({
      ...launch,
      work: join(work, createHash('md5').update(claim).digest('hex')),
      ports: {},
    })
    const guest = startMachine(changed)
    running.push(guest)
    const timer = setTimeout(() => void guest.stop(), bootMs)
    const code = await guest.exited
    clearTimeout(timer)
    await guest.stop() // its last words have arrived when this returns
    must(!guest.output().includes('worker is ready'), 'the worker started')
    const said = guest
      .output()
      .match(/(machine: stopped|error|Kernel panic[^:]*):.*/g)
      ?.join('; ')
    must(said !== undefined && because.test(said), `ended with ${code}: ${said ?? 'no word'}`)
    return `the machine ended with ${code}: ${said}`
  })
}

/** The kernel stops the machine before init could say a word, and is silent itself unless told otherwise. */
function heardKernel(machine: string): string {
  const line = readFileSync(join(machine, 'cmdline'), 'utf8')
  const heard = line.replace('quiet loglevel=0 console=null', 'loglevel=1 console=ttyS0')
  must(heard !== line, 'the kernel is not silent')
  return heard
}

function flipBit(from: string, to: string, offset: number): string {
  copyFileSync(from, to)
  const file = openSync(to, 'r+')
  const byte = readFileSync(from).subarray(offset, offset + 1)
  writeSync(file, Uint8Array.of((byte[0] ?? 0) ^ 1), 0, 1, offset)
  closeSync(file)
  return to
}

/** The first block of a program or a model, which every start reads. */
function blockOf(image: string, file: string): number {
  return readFileSync(image).indexOf(readFileSync(file).subarray(0, 4096))
}

function readIndex(machine: string): { artefacts: Record<string, { sha256: string }> } {
  return JSON.parse(readFileSync(join(machine, 'machine.json'), 'utf8'))
}

async function compareRecorded(machine: string): Promise<string> {
  const read = (name: string) => new Uint8Array(readFileSync(join(machine, name)))
  const recorded = (name: string) =>
    JSON.parse(readFileSync(join(repository, 'test/vectors/measure', name), 'utf8'))
  const tdx = recorded('tdx-debian/values.json')
  const snp = recorded('snp-debian/digests.json')
  const firmware = parseFirmware(read('firmware-tdx.fd'))
  must(sha256(join(machine, 'firmware-tdx.fd')) === tdx.firmware.emptied_sha256, 'emptied firmware')
  must(hex(await measureTd(firmware, readTdvfMetadata(firmware))) === tdx.mrtd, 'MRTD')
  must(
    hex(await authenticodeSha384(read('kernel'))) === tdx.kernel.authenticode_sha384,
    'Authenticode',
  )
  const pages = await digestFirmware(parseFirmware(read('firmware-snp.fd')))
  must(hex(pages) === snp.firmware.ld_after_firmware, 'firmware pages')
  return `MRTD ${tdx.mrtd.slice(0, 16)}…, Authenticode, pages of the SNP firmware`
}

/** RTMR0 also depends on tables of the host, which no file of the machine contains: it must be left out. */
async function measureRegisters(machine: string): Promise<string> {
  const read = (name: string) => new Uint8Array(readFileSync(join(machine, name)))
  const commandLine = readFileSync(join(machine, 'cmdline'), 'utf8')
  const boot = { kernel: read('kernel'), initrd: read('initrd'), commandLine }
  const shape = { memoryBytes: 2 ** 31, acpi: undefined, smbios: undefined }
  const { mr_td, rtmr0, rtmr1, rtmr2, events } = await measureTdx(
    read('firmware-tdx.fd'),
    boot,
    shape,
  )
  must(rtmr0 === undefined, 'RTMR0 is stated without the tables of a host')
  const bases = Map.groupBy(events, ({ basis }) => basis)
  const counts = [...bases].map(([basis, list]) => `${list.length} ${basis}`)
  const registers = [`MRTD ${mr_td}`, `RTMR1 ${rtmr1}`, `RTMR2 ${rtmr2}`]
  const short = registers.map((one) => `${one.slice(0, 22)}…`)
  return `${short.join(', ')}; events: ${counts.join(', ')}`
}

async function launchDigest(machine: string, commandLine: string): Promise<string> {
  const read = (name: string) => new Uint8Array(readFileSync(join(machine, name)))
  const boot = { kernel: read('kernel'), initrd: read('initrd'), commandLine }
  const shape = { hypervisor: 'qemu', cpu: 'EPYC-Milan', vcpus: 2, sevFeatures: 1n } as const
  const [one] = await measureSnp(read('firmware-snp.fd'), boot, [shape])
  return one?.measurement ?? fail()
}

async function start(ready: string, command: readonly string[]): Promise<void> {
  const one = startProgram(command)
  running.push(one)
  await one.until(new RegExp(ready), bootMs)
}

async function createKey(gatewayUrl: string): Promise<string> {
  const response = await fetch(`${gatewayUrl}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: '{"name":"machine test"}',
  })
  return ((await response.json()) as { secret: string }).secret
}

/** QEMU accepts every connection; whether the machine did shows when something is said. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.0\r\n\r\n'))
    const done = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.setTimeout(5_000, () => done(false))
    socket.once('data', () => done(true))
    socket.once('close', () => done(false))
    socket.once('error', () => done(false))
  })
}
