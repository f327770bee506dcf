/** A command of the gateway, asked with the admin token of its own pod. */
import type { Cluster } from './cluster.ts'
import { deployments } from './rollouts.ts'

export function askGateway(cluster: Cluster, ...words: string[]): Promise<string> {
  return cluster.kubectl([
    ...['exec', `deployment/${deployments.gateway}`, '--', '/usr/bin/bun'],
    ...['/app/apps/gateway/src/main.ts', ...words, '--gateway', 'https://localhost:8090'],
    ...['--adminToken', '@/etc/privatemode/operator/adminToken'],
    ...['--gatewayCaPath', '/etc/privatemode/gateway-ca/ca.crt'],
  ])
}
