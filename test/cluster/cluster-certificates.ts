/** The cluster's own authority, a certificate for each of its parts, and their kubeconfigs. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeAddress, nodeName } from '../confined/prepare-namespaces.ts'

const serverNames = [
  ...['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map(
    (name) => `DNS:${name}`,
  ),
  ...['127.0.0.1', '10.96.0.1', nodeAddress].map((address) => `IP:${address}`),
].join(',')

/** Subjects as Kubernetes reads them: users, and groups as organisations. */
const subjects: Readonly<Record<string, { subject: string; names?: string }>> = {
  apiserver: { subject: '/CN=kube-apiserver', names: serverNames },
  'apiserver-kubelet': { subject: '/O=system:masters/CN=kube-apiserver-kubelet-client' },
  admin: { subject: '/O=system:masters/CN=admin' },
  controllers: { subject: '/CN=system:kube-controller-manager' },
  scheduler: { subject: '/CN=system:kube-scheduler' },
  proxy: { subject: '/CN=system:kube-proxy' },
  registry: { subject: '/CN=registry', names: 'DNS:registry.internal' },
  kubelet: {
    subject: `/O=system:nodes/CN=system:node:${nodeName}`,
    names: `DNS:${nodeName},IP:${nodeAddress}`,
  },
}

export function makeCertificates(folder: string): void {
  const path = (name: string) => join(folder, name)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const files = (name: string) => ['-keyout', path(`${name}.key`), '-out', path(`${name}.crt`)]
  openssl('req', '-x509', ...key, '-subj', '/CN=kubernetes', ...files('ca'))
  for (const [name, { subject, names }] of Object.entries(subjects)) {
    openssl(
      ...['req', '-x509', ...key, '-subj', subject, ...files(name)],
      ...['-CA', path('ca.crt'), '-CAkey', path('ca.key')],
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      ...['-addext', 'extendedKeyUsage=clientAuth,serverAuth'],
      ...(names === undefined ? [] : ['-addext', `subjectAltName=${names}`]),
    )
    writeFileSync(path(`${name}.conf`), kubeconfig(folder, name))
  }
  openssl('genrsa', '-out', path('accounts.key'), '2048')
  openssl('rsa', '-in', path('accounts.key'), '-pubout', '-out', path('accounts.pub'))
}

function kubeconfig(folder: string, name: string): string {
  const path = (file: string) => join(folder, file)
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'cluster',
        cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority': path('ca.crt') },
      },
    ],
    users: [
      {
        name,
        user: { 'client-certificate': path(`${name}.crt`), 'client-key': path(`${name}.key`) },
      },
    ],
    contexts: [{ name: 'here', context: { cluster: 'cluster', user: name } }],
    'current-context': 'here',
  })
}

function openssl(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['openssl', ...args])
  if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr.toString().trim()}`)
}
