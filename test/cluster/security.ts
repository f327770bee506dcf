/** What running pods may do and read, as the node enforces it. */
import { must } from '../confined/rows.ts'
import type { Cluster, Json, Pod } from './cluster.ts'
import type { Scene } from './scene.ts'

export async function trySecurity({ cluster, rows }: Scene): Promise<void> {
  await rows.try(
    'a namespace that enforces `restricted` refuses a pod without limits',
    async () => {
      const spec = { containers: [{ name: 'one', image: 'registry.internal/pause:1' }] }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'loose' }, spec }
      const input = JSON.stringify(pod)
      const { code, errors } = await cluster.tryKubectl(['create', '-f', '-'], { input })
      must(code !== 0 && errors.includes('violates PodSecurity "restricted'), `created: ${errors}`)
      const pods = (await cluster.get<{ items: Pod[] }>('pods')).items
      must(pods.length >= 3, `only ${pods.length} pods of ours run there`)
      return `it refuses that one, and runs ${pods.length} of ours`
    },
  )
  for (const [part, file] of [
    ['gateway', '/etc/privatemode/database/databaseUrl'],
    ['worker', '/etc/privatemode/register/registerToken'],
  ] as const) {
    await rows.try(`the ${part} reads its secret without root, and nobody else could`, async () => {
      const seen = await look(cluster, part, file)
      must(seen === '65532 100440 0 65532', `user, mode and owner: ${seen}`)
      return `${file}: 0440, root and group 65532; read by user 65532`
    })
  }
  await rows.try(
    'a worker whose pod has no `fsGroup` names the secret that it cannot read',
    async () => {
      const said = await withoutGroup(cluster)
      const [line] = /.*registerToken.*cannot be read.*/.exec(said) ?? []
      must(line !== undefined, `it said: ${said.slice(-500)}`)
      return line.trim().slice(0, 160)
    },
  )
}

/** The worker's own pod, less the group to which its secrets are given. */
async function withoutGroup(cluster: Cluster): Promise<string> {
  const { spec } = (await cluster.get<Json>('deployment/privatemode-worker-chat-main')).spec
    .template
  const { fsGroup: _, ...securityContext } = spec.securityContext
  const name = 'without-group'
  const containers = spec.containers.filter((one: Json) => one.name === 'worker')
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: { ...spec, containers, securityContext, restartPolicy: 'Never' },
  }
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(pod) })
  try {
    const over = ['wait', '--for=jsonpath={.status.phase}=Failed', `pod/${name}`, '--timeout=120s']
    await cluster.kubectl(over)
    return await cluster.kubectl(['logs', name, '-c', 'worker'])
  } finally {
    await cluster.kubectl(['delete', 'pod', name, '--wait=false'])
  }
}

/** As the program itself sees it. */
async function look(cluster: Cluster, part: string, file: string): Promise<string> {
  const name = part === 'worker' ? 'privatemode-worker-chat-main' : `privatemode-${part}-main`
  const code = `const fs = require('fs'); const { mode, uid, gid } = fs.statSync('${file}')
    fs.readFileSync('${file}'); console.log(process.getuid(), mode.toString(8), uid, gid)`
  const inside = ['--', '/usr/bin/bun', '-e', code]
  return (await cluster.kubectl(['exec', `deployment/${name}`, '-c', part, ...inside])).trim()
}
