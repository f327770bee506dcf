/** A real API server over a real etcd. */
import { join } from 'node:path'
import { type Parts, untilReady } from '../confined/parts.ts'
import { nodeAddress, serviceRange } from '../confined/prepare-namespaces.ts'
import { makeCertificates } from './cluster-certificates.ts'
import type { Programs } from './go-programs.ts'

const etcd = 'http://127.0.0.1:2379'

export const kubeconfigOf = (parts: Parts, user: string) => join(parts.work, 'pki', `${user}.conf`)

export async function startApiServer(parts: Parts, programs: Programs): Promise<void> {
  const pki = parts.folder('pki')
  makeCertificates(pki)
  parts.start('etcd', [
    ...['etcd', '--data-dir', parts.folder('etcd'), '--listen-client-urls', etcd],
    ...['--advertise-client-urls', etcd, '--unsafe-no-fsync', '--logger', 'zap'],
  ])
  await untilReady('etcd', async () => {
    return (await fetch(`${etcd}/health`).catch(() => undefined))?.ok ?? false
  })
  parts.start('kube-apiserver', [programs['kube-apiserver'], ...flags(pki)])
  const asAdmin = ['kubectl', '--kubeconfig', kubeconfigOf(parts, 'admin')]
  await untilReady(
    'the API server',
    () => Bun.spawnSync([...asAdmin, 'get', '--raw', '/readyz']).exitCode === 0,
    300_000,
  )
}

function flags(pki: string): string[] {
  const file = (name: string) => join(pki, name)
  return [
    ...['--etcd-servers', etcd, '--secure-port', '6443', '--advertise-address', nodeAddress],
    ...['--service-cluster-ip-range', serviceRange, '--authorization-mode', 'Node,RBAC'],
    ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
    ...['--client-ca-file', file('ca.crt'), '--enable-admission-plugins', 'NodeRestriction'],
    ...['--service-account-issuer', 'https://kubernetes.default.svc.cluster.local'],
    ...['--service-account-key-file', file('accounts.pub')],
    ...['--service-account-signing-key-file', file('accounts.key')],
    ...['--kubelet-client-certificate', file('apiserver-kubelet.crt')],
    ...['--kubelet-client-key', file('apiserver-kubelet.key')],
    ...['--kubelet-certificate-authority', file('ca.crt')],
    ...['--kubelet-preferred-address-types', 'InternalIP'],
  ]
}
