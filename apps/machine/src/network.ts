/**
 * Configures one interface with one address; rules allow the named hosts and inbound traffic to the
 * port.
 */
import { resolve4, setServers } from 'node:dns/promises'
import { closeSync, writeFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import type { HostFacts, MachineConfig } from './machine-config.ts'
import { MachineError } from './machine-error.ts'
import { ioctl, openNetworkSocket } from './syscalls.ts'

const requests = {
  setFlags: 0x8914n,
  setAddress: 0x8916n,
  setNetmask: 0x891cn,
  setMtu: 0x8922n,
  addRoute: 0x890bn,
} as const
const upAndRunning = 0x41
const routeUpGateway = 0x3

export const interfaceName = 'eth0'

export function configureInterface({ address, prefix, route, mtu }: HostFacts): void {
  const socket = openNetworkSocket()
  const ask = (name: keyof typeof requests, structure: Uint8Array) =>
    ioctl(socket, requests[name], structure, `network: ${name}`)
  try {
    if (mtu !== undefined)
      ask(
        'setMtu',
        formatInterface((bytes) => bytes.writeInt32LE(mtu, 16)),
      )
    ask(
      'setAddress',
      formatInterface((bytes) => writeAddress(bytes, 16, address)),
    )
    ask(
      'setNetmask',
      formatInterface((bytes) => writeAddress(bytes, 16, netmask(prefix))),
    )
    ask(
      'setFlags',
      formatInterface((bytes) => bytes.writeInt16LE(upAndRunning, 16)),
    )
    ask('addRoute', formatDefaultRoute(route))
  } finally {
    closeSync(socket)
  }
}

/** struct ifreq. */
export function formatInterface(fill: (bytes: Buffer) => void): Uint8Array {
  const bytes = Buffer.alloc(40)
  bytes.write(interfaceName, 0, 'latin1')
  fill(bytes)
  return bytes
}

/** struct rtentry: the default route, through the network's gateway. */
export function formatDefaultRoute(gateway: string): Uint8Array {
  const bytes = Buffer.alloc(120)
  writeAddress(bytes, 8, '0.0.0.0')
  writeAddress(bytes, 24, gateway)
  writeAddress(bytes, 40, '0.0.0.0')
  bytes.writeUInt16LE(routeUpGateway, 56)
  return bytes
}

/** struct sockaddr_in. */
function writeAddress(bytes: Buffer, at: number, address: string): void {
  bytes.writeUInt16LE(2, at)
  address.split('.').forEach((part, index) => {
    bytes.writeUInt8(Number(part), at + 4 + index)
  })
}

export function netmask(prefix: number): string {
  const bits = prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.')
}

/** A reachable host, with the addresses its name had when the machine started. */
export type Reachable = {
  readonly host: string
  readonly port: number
  readonly addresses: readonly string[]
}

export async function resolveOutbound(
  config: MachineConfig,
  facts: HostFacts,
): Promise<Reachable[]> {
  if (facts.resolver !== undefined) setServers([facts.resolver])
  const urls = [config.gateway.url, ...config.outbound].map((text) => new URL(text))
  return Promise.all(
    urls.map(async ({ hostname, port, protocol }) => ({
      host: hostname,
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      addresses: isIPv4(hostname) ? [hostname] : await resolve4(hostname),
    })),
  )
}

/** Names are fixed here: from now on the worker resolves nothing. */
export function formatHosts(reachable: readonly Reachable[]): string {
  const lines = reachable
    .filter(({ host }) => !isIPv4(host))
    .flatMap(({ host, addresses }) => addresses.map((address) => `${address} ${host}`))
  return `${[...new Set(['127.0.0.1 localhost', ...lines])].join('\n')}\n`
}

/** While names are resolved, only the resolver can be reached, and no inbound connections are accepted. */
export function formatResolverRules(resolver: string | undefined): string {
  const rules = resolver === undefined ? [] : [`ip daddr ${resolver} udp dport 53 accept`]
  return formatRules([], rules)
}

export function formatMachineRules(port: number, reachable: readonly Reachable[]): string {
  const outgoing = reachable.flatMap((one) =>
    one.addresses.map((address) => `ip daddr ${address} tcp dport ${one.port} accept`),
  )
  return formatRules([`tcp dport ${port} accept`], [...new Set(outgoing)])
}

/** IPv6 is disabled in the kernel, so IPv4 rules are sufficient. */
function formatRules(incoming: readonly string[], outgoing: readonly string[]): string {
  const chain = (hook: string, rules: readonly string[]) =>
    [`  chain ${hook} {`, `    type filter hook ${hook} priority 0; policy drop;`]
      .concat(rules.map((rule) => `    ${rule}`))
      .concat('  }')
      .join('\n')
  const established = 'ct state established accept'
  return `flush ruleset
table ip machine {
${chain('input', [established, ...incoming])}
${chain('forward', [])}
${chain('output', [established, ...outgoing])}
}
`
}

export function loadRules(rules: string): void {
  const path = '/run/rules.nft'
  writeFileSync(path, rules)
  const { exitCode, stderr } = Bun.spawnSync(['/usr/sbin/nft', '-f', path], { env: {} })
  if (exitCode === 0) return
  throw new MachineError('hardening_failed', `nft refused the rules: ${stderr.toString().trim()}`)
}
