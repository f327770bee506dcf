/** What the namespaces of a cluster, or of container engines, need before anything starts in them: mounts, control groups, a network, settings. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const nodeAddress = '192.0.2.2'
export const nodeName = 'node'
export const podRange = '10.244.0.0/24'
export const serviceRange = '10.96.0.0/16'

/** Settings of the kernel that a kubelet would otherwise change for the whole machine. */
const kernelSettings: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

export function furnish(work: string): void {
  run('hostname', nodeName)
  mountGroups()
  // Everything that a node writes outside of its folder goes with the namespace.
  for (const path of ['/run', '/var/log']) run('mount', '-t', 'tmpfs', 'tmpfs', path)
  mkdirSync(join(work, 'var-lib'))
  run('mount', '--bind', join(work, 'var-lib'), '/var/lib')
  for (const [name, value] of Object.entries(kernelSettings)) {
    const file = join(work, name.replaceAll('/', '.'))
    writeFileSync(file, `${value}\n`)
    run('mount', '--bind', file, `/proc/sys/${name}`)
  }
  run('ip', 'link', 'set', 'lo', 'up')
  run('ip', 'link', 'add', 'node0', 'type', 'bridge')
  run('ip', 'address', 'add', `${nodeAddress}/24`, 'dev', 'node0')
  run('ip', 'link', 'set', 'node0', 'up')
  // Addresses of services are translated after a route was found for them.
  run('ip', 'route', 'add', 'default', 'dev', 'node0')
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
}

/** Fresh mounts show the groups of this namespace alone. */
function mountGroups(): void {
  const controllers = readFileSync('/proc/self/cgroup', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':')[1] ?? '')
  run('mount', '-t', 'sysfs', 'sysfs', '/sys')
  if (controllers.every((name) => name === '')) {
    run('mount', '-t', 'cgroup2', 'cgroup2', '/sys/fs/cgroup')
    delegate('/sys/fs/cgroup')
    return
  }
  run('mount', '-t', 'tmpfs', 'tmpfs', '/sys/fs/cgroup')
  for (const names of controllers.filter((name) => name !== '')) {
    const folder = join('/sys/fs/cgroup', names.replace('name=', ''))
    mkdirSync(folder)
    const option = names.startsWith('name=') ? `none,${names}` : names
    run('mount', '-t', 'cgroup', '-o', option, 'cgroup', folder)
  }
}

/** In version 2 a group that shares out controllers must not have processes itself. */
function delegate(root: string): void {
  mkdirSync(join(root, 'init'))
  for (const pid of readFileSync(join(root, 'cgroup.procs'), 'utf8').trim().split('\n'))
    writeFileSync(join(root, 'init', 'cgroup.procs'), pid)
  const names = readFileSync(join(root, 'cgroup.controllers'), 'utf8').trim().split(' ')
  writeFileSync(join(root, 'cgroup.subtree_control'), names.map((name) => `+${name}`).join(' '))
}

function run(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
}
