/** A PostgreSQL for a cluster without an operator of databases: one pod on a volume of the node. */
import type { Cluster } from './cluster.ts'

export const databaseNamespace = 'database'

export async function installPostgres(cluster: Cluster, folder: string): Promise<void> {
  await cluster.kubectl(['create', 'namespace', databaseNamespace])
  await cluster.apply(localVolume('database', folder, databaseNamespace), ...objects)
  await cluster.kubectl([
    '-n',
    databaseNamespace,
    'rollout',
    'status',
    'deployment/postgres',
    '--timeout=180s',
  ])
}

/** A folder of the node as the volume of one claim. */
export function localVolume(name: string, path: string, namespace: string, claim = name): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteMany', 'ReadWriteOnce', 'ReadOnlyMany'],
      claimRef: { namespace, name: claim },
      local: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] },
          ],
        },
      },
    },
  }
}

const prepare = `set -e
[ -s /data/db/PG_VERSION ] && exit 0
initdb -D /data/db -U privatemode --auth=trust --no-sync -E UTF8 --locale=C
echo 'host all all all trust' >> /data/db/pg_hba.conf
echo 'CREATE DATABASE privatemode' | postgres --single -D /data/db postgres`

const hardened = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}
const image = 'registry.internal/postgres:test'
const labels = { app: 'postgres' }
const mounts = [
  { name: 'data', mountPath: '/data' },
  { name: 'tmp', mountPath: '/tmp' },
]

const objects: object[] = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'database', namespace: databaseNamespace },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: '',
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'postgres', namespace: databaseNamespace },
    spec: { selector: labels, ports: [{ port: 5432 }] },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'postgres', namespace: databaseNamespace },
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          securityContext: {
            runAsUser: 65532,
            runAsGroup: 65532,
            fsGroup: 65532,
            // Otherwise a restart would open the folder to the group, which PostgreSQL refuses.
            fsGroupChangePolicy: 'OnRootMismatch',
          },
          initContainers: [
            {
              name: 'prepare',
              image,
              command: ['/bin/sh', '-c', prepare],
              securityContext: hardened,
              volumeMounts: mounts,
            },
          ],
          containers: [
            {
              name: 'postgres',
              image,
              command: ['postgres'],
              args: ['-D', '/data/db', '-h', '0.0.0.0', '-k', '/tmp'],
              securityContext: hardened,
              volumeMounts: mounts,
              readinessProbe: { tcpSocket: { port: 5432 }, periodSeconds: 2 },
            },
          ],
          volumes: [
            { name: 'data', persistentVolumeClaim: { claimName: 'database' } },
            { name: 'tmp', emptyDir: {} },
          ],
        },
      },
    },
  },
]
