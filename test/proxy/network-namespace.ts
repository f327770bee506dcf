/** A network of its own for one process: everything it sends goes over one wire to us, and the kernel counts it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Of the range for tests between machines (RFC 2544): nobody's, and not loopback. */
const network = '198.18.77'
export const addresses = {
  resolver: `${network}.1`,
  backend: `${network}.2`,
  manifest: `${network}.3`,
  inside: `${network}.9`,
} as const

export type NetworkNamespace = {
  /** To be put before the command that is to run inside. */
  readonly command: readonly string[]
  /** Lays the wire to the process once it runs; all of it goes when the process does. */
  connect(pid: number): Promise<void>
}

const outer = 'pmtest0'
const inner = 'pmtest1'

/** Waits for the wire, then runs the command with a resolver of ours and every other address behind us. */
const script = `
until ip link show ${inner} >/dev/null 2>&1; do sleep 0.02; done
set -e
mount --bind "$1" /etc/resolv.conf
ip link set lo up
ip addr add ${addresses.inside}/24 dev ${inner}
ip link set ${inner} up
ip route add default via ${addresses.resolver}
shift
exec "$@"`

/** Why there can be no such namespace here, or undefined. */
export function whyNoNamespace(): string | undefined {
  if (process.platform !== 'linux') return 'not on Linux'
  if (process.getuid?.() !== 0) return 'not root'
  for (const [tool, ...args] of [
    ['ip', '-V'],
    ['unshare', '--net', '--mount', 'true'],
  ] as const) {
    if (spawnSync(tool, args).status !== 0) return `${tool} does not work`
  }
  return undefined
}

export function createNetworkNamespace(): NetworkNamespace {
  const resolverFile = join(mkdtempSync(join(tmpdir(), 'privatemode-resolver-')), 'resolv.conf')
  writeFileSync(resolverFile, `nameserver ${addresses.resolver}\noptions timeout:1\n`)
  ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner)
  const { resolver, backend, manifest } = addresses
  for (const address of [resolver, backend, manifest]) {
    ip('addr', 'add', `${address}/24`, 'dev', outer)
  }
  ip('link', 'set', outer, 'up')
  return {
    command: ['unshare', '--net', '--mount', 'sh', '-c', script, 'sh', resolverFile],
    async connect(pid) {
      // The process is in a namespace of its own as soon as `unshare` has made it.
      const own = namespaceOf(process.pid)
      while (namespaceOf(pid) === own) await Bun.sleep(5)
      ip('link', 'set', inner, 'netns', String(pid))
    },
  }
}

/** Removes the wire where a test has failed before its process took it along. */
export function removeWire(): void {
  spawnSync('ip', ['link', 'del', outer])
}

/** What the kernel has counted in the namespace of a process (proc(5), RFC 1213 names). */
export function countersOf(pid: number): Readonly<Record<string, number>> {
  const counters: Record<string, number> = {}
  const lines = readFileSync(`/proc/${pid}/net/snmp`, 'utf8').trim().split('\n')
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const [group = '', ...names] = (lines[index] ?? '').split(' ')
    const [, ...values] = (lines[index + 1] ?? '').split(' ')
    for (const [at, name] of names.entries()) {
      counters[group.replace(':', '.') + name] = Number(values[at])
    }
  }
  for (const line of readFileSync(`/proc/${pid}/net/snmp6`, 'utf8').trim().split('\n')) {
    const [name = '', value] = line.split(/\s+/)
    counters[name] = Number(value)
  }
  return counters
}

function namespaceOf(pid: number): string {
  const found = spawnSync('readlink', [`/proc/${pid}/ns/net`])
  return found.stdout.toString().trim()
}

function ip(...args: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', args)
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.toString()}`)
}
