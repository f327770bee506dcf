/**
 * Boots the machine in a fixed order, and stops it if anything differs from what was measured or
 * promised.
 */

import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { parseCommandLine } from './command-line.ts'
import { type OnCorruption, openVerity } from './device-mapper.ts'
import { hardenKernel } from './hardening.ts'
import {
  type HostFacts,
  type MachineConfig,
  type MachineServer,
  maxDocumentBytes,
  parseHostFacts,
  parseMachineConfig,
  trimDocument,
  type Volume,
} from './machine-config.ts'
import { MachineError } from './machine-error.ts'
import {
  configureInterface,
  formatHosts,
  formatMachineRules,
  formatResolverRules,
  loadRules,
  resolveOutbound,
} from './network.ts'
import { formatServerBundle, serverUser } from './server-bundle.ts'
import { chroot, drain, loadModule, mount, mountFlags } from './syscalls.ts'
import { volumeLabels } from './volumes.ts'
import { formatBundle, formatModels, formatWorkerArgs } from './worker-bundle.ts'

const { readOnly, noSuid, noDev, noExec, bind, move, recursive } = mountFlags
const quiet = noSuid | noDev | noExec

/** Throws when the worker or the model server has exited, which ends the machine. */
export async function boot(): Promise<never> {
  mountSystem()
  loadModules()
  mountConfig()
  const launch = parseCommandLine(readFileSync('/proc/cmdline', 'utf8'))
  say(`variant ${launch.variant}`)
  const disks = listDisks()
  const config = parseMachineConfig(readConfig(disks, launch.config), launch.variant)
  const facts = parseHostFacts(readDocument(findDisk(disks, volumeLabels.host)))
  const root: Volume = {
    label: volumeLabels.root,
    root: launch.root.hash,
    blocks: launch.root.blocks,
  }
  mountVolume(disks, root, '/run/root', 'panic')
  mkdirSync(weightsPath, { recursive: true })
  for (const { volume } of config.models) {
    mountVolume(disks, volume, `${weightsPath}/${volume.label}`, 'error')
  }
  const { server } = config
  if (server !== undefined) {
    mountVolume(disks, server.volume, serverRoot, 'panic')
    makeSocketFolder()
  }
  say(`volumes are open: root ${root.root}`)
  configureInterface(facts)
  loadRules(formatResolverRules(facts.resolver))
  const reachable = await resolveOutbound(config, facts)
  loadRules(formatMachineRules(config.port, reachable))
  hardenKernel()
  const programs = [prepareWorker(config, facts, formatHosts(reachable))]
  if (server !== undefined) programs.push(prepareServer(server))
  say(`the kernel is closed; starting ${programs.join(' and ')}`)
  // In the debug variant alone: a model server may log prompts.
  const { ended, code } = await Promise.race(
    programs.map((name) => runProgram(name, name === 'worker' || launch.variant === 'debug')),
  )
  throw new MachineError('program_ended', `the ${ended} exited with ${code}`)
}

/**
 * The first program has already mounted /proc. Containers need to pivot away from the root, which
 * an initial ramdisk does not allow: its content is mounted over it.
 */
function mountSystem(): void {
  mkdirSync('/newroot', { recursive: true })
  mount({ source: '/', target: '/newroot', type: 'none', flags: bind | recursive })
  process.chdir('/newroot')
  mount({ source: '.', target: '/', type: 'none', flags: move })
  chroot('.')
  process.chdir('/')
  mount({ source: 'sysfs', target: '/sys', type: 'sysfs', flags: quiet })
  mount({ source: 'devtmpfs', target: '/dev', type: 'devtmpfs', flags: noSuid | noExec })
  mount({ source: 'tmpfs', target: '/run', type: 'tmpfs', flags: quiet, data: 'mode=755' })
  mount({ source: 'cgroup2', target: '/sys/fs/cgroup', type: 'cgroup2', flags: quiet })
  mount({ source: 'securityfs', target: '/sys/kernel/security', type: 'securityfs', flags: quiet })
}

const modulesPath = '/machine/modules'

/** In the order recorded by the build; file names carry their position. */
function loadModules(): void {
  for (const name of readdirSync(modulesPath).sort()) {
    const file = openSync(`${modulesPath}/${name}`, 'r')
    try {
      loadModule(file, name)
    } catch (error) {
      // The driver for the other vendor's processor reports that its device is missing.
      if (!/^\d+-(sev-guest|tdx-guest)\.ko$/.test(name)) throw error
    } finally {
      closeSync(file)
    }
  }
}

/** Attestation reports are made here. The driver is a module, so this comes after `loadModules`. */
function mountConfig(): void {
  mount({ source: 'configfs', target: '/sys/kernel/config', type: 'configfs', flags: quiet })
}

/** Created by the module tsm, with or without a confidential processor. */
const reportsPath = '/sys/kernel/config/tsm/report'

/** Devices by serial number. Two disks with the same number are refused, whatever their content. */
function listDisks(): Map<string, string> {
  const disks = new Map<string, string>()
  for (const name of readdirSync('/sys/block').filter((each) => /^vd[a-z]+$/.test(each))) {
    const serial = readFileSync(`/sys/block/${name}/serial`, 'utf8').trim()
    if (disks.has(serial))
      throw new MachineError('volume_missing', `two disks have the serial number ${serial}`)
    disks.set(serial, `/dev/${name}`)
  }
  return disks
}

function findDisk(disks: ReadonlyMap<string, string>, label: string): string {
  const device = disks.get(label)
  if (device === undefined)
    throw new MachineError('volume_missing', `no disk has the serial number ${label}`)
  return device
}

function readConfig(disks: ReadonlyMap<string, string>, expected: string): Uint8Array {
  const bytes = readDocument(findDisk(disks, volumeLabels.config))
  const seen = createHash('sha256').update(bytes).digest('hex')
  if (seen === expected) return bytes
  throw new MachineError('config_invalid', `config has SHA-256 ${seen}, measured was ${expected}`)
}

/** Unlike a file, a disk has no exact length: read up to the maximum size of a document. */
function readDocument(device: string): Uint8Array {
  const bytes = new Uint8Array(maxDocumentBytes + 1)
  const file = openSync(device, 'r')
  try {
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, length)
    }
    return trimDocument(bytes.subarray(0, length))
  } finally {
    closeSync(file)
  }
}

function mountVolume(
  disks: ReadonlyMap<string, string>,
  volume: Volume,
  target: string,
  onCorruption: OnCorruption,
): void {
  const device = openVerity(volume, findDisk(disks, volume.label), onCorruption)
  mkdirSync(target, { recursive: true })
  mount({ source: device, target, type: 'erofs', flags: readOnly | noSuid | noDev })
}

const bundles = '/run/bundles'
const settingsPath = '/run/settings'
const weightsPath = '/run/weights'
const serverRoot = '/run/server-root'
/** Apart from the server, only a program in root's group can enter it: the worker. */
const socketPath = '/run/socket'

type ProgramName = 'worker' | 'server'

function prepareWorker(config: MachineConfig, facts: HostFacts, hosts: string): ProgramName {
  mkdirSync(settingsPath, { mode: 0o700 })
  const put = (name: string, content: string) =>
    writeFileSync(`${settingsPath}/${name}`, content, { mode: 0o400 })
  put('models.json', JSON.stringify(formatModels(config)))
  put('hosts', hosts)
  if (config.gateway.ca !== undefined) put('gateway-ca.pem', config.gateway.ca)
  if (config.softwareIdentity !== undefined) {
    put('identity.json', JSON.stringify(config.softwareIdentity))
  }
  return putBundle(
    'worker',
    formatBundle({
      root: '/run/root',
      settings: settingsPath,
      weights: weightsPath,
      socket: config.server === undefined ? undefined : socketPath,
      reports: config.softwareIdentity === undefined ? reportsPath : undefined,
      args: formatWorkerArgs(config, facts),
    }),
  )
}

function prepareServer(server: MachineServer): ProgramName {
  const paths = { root: serverRoot, weights: weightsPath, socket: socketPath }
  return putBundle('server', formatServerBundle({ server, ...paths }))
}

function makeSocketFolder(): void {
  mkdirSync(socketPath)
  chownSync(socketPath, serverUser.uid, 0)
  chmodSync(socketPath, 0o770)
}

function putBundle(name: ProgramName, bundle: object): ProgramName {
  mkdirSync(`${bundles}/${name}`, { recursive: true, mode: 0o700 })
  writeFileSync(`${bundles}/${name}/config.json`, JSON.stringify(bundle))
  return name
}

/** The worker's output goes to the serial line: events with listed fields, as its log allows. */
async function runProgram(
  name: ProgramName,
  isHeard: boolean,
): Promise<{ readonly ended: ProgramName; readonly code: number }> {
  const line = (isHeard ? serialLine() : undefined) ?? 'ignore'
  const child = Bun.spawn(
    [
      ...['/usr/bin/crun', '--root', '/run/crun', '--cgroup-manager', 'cgroupfs'],
      ...['run', '--bundle', `${bundles}/${name}`, name],
    ],
    { stdin: 'ignore', stdout: line, stderr: line, env: {} },
  )
  return { ended: name, code: await child.exited }
}

let serial: number | undefined | null = null

function serialLine(): number | undefined {
  if (serial !== null) return serial
  try {
    serial = openSync('/dev/ttyS0', 'w')
  } catch {
    serial = undefined // the machine has no serial line: nothing is reported
  }
  return serial
}

/**
 * Reports on the machine, before it has seen anything private. Returns when the line has sent it:
 * the kernel discards the rest when PID 1 exits.
 */
export function say(message: string): void {
  const line = serialLine()
  if (line === undefined) return
  writeSync(line, `machine: ${message}\n`)
  drain(line)
}
