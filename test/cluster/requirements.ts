/** Why a cluster cannot be set up on this machine; nothing where it can. */
import { existsSync, readFileSync } from 'node:fs'
import { missingNamespaces } from '../confined/missing-namespaces.ts'

/** Programs that package managers have, by the name of Debian's package. */
const wanted: Readonly<Record<string, string>> = {
  go: 'golang-go, 1.25 or later',
  etcd: 'etcd-server',
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  kubectl: 'kubernetes-client',
  nft: 'nftables',
  conntrack: 'conntrack',
  ip: 'iproute2',
  ipset: 'ipset',
  iptables: 'iptables',
  openssl: 'openssl',
  unshare: 'util-linux',
  setpriv: 'util-linux',
  skopeo: 'skopeo',
}

export const cniFolder = '/usr/lib/cni'

export function missingForCluster(): string[] {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return ['it needs Linux on x86-64: that is what the images are loaded for']
  const reasons: string[] = []
  if (process.getuid?.() !== 0)
    reasons.push('it needs root, for namespaces, mounts and control groups')
  for (const [program, packaged] of Object.entries(wanted)) {
    if (Bun.which(program) === null) reasons.push(`there is no ${program} (Debian: ${packaged})`)
  }
  for (const plugin of ['ptp', 'host-local', 'portmap', 'loopback']) {
    if (!existsSync(`${cniFolder}/${plugin}`))
      reasons.push(`there is no ${cniFolder}/${plugin} (Debian: containernetworking-plugins)`)
  }
  if (reasons.length > 0) return reasons
  return [...missingControllers(), ...missingNamespaces()]
}

/** Control groups of version 1 have a line each; those of version 2 are in one file. */
function missingControllers(): string[] {
  const lines = readFileSync('/proc/self/cgroup', 'utf8')
  const unified = '/sys/fs/cgroup/cgroup.controllers'
  const there = existsSync(unified) ? readFileSync(unified, 'utf8') : lines
  return ['cpu', 'memory', 'pids', 'cpuset']
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(there))
    .map((name) => `the kernel has no control groups for ${name}`)
}
