/** Pods that are killed or evicted while clients ask. */
import { must } from '../confined/rows.ts'
import type { Cluster } from './cluster.ts'
import { deployments } from './rollouts.ts'
import type { Scene } from './scene.ts'
import { formatOutcome, mustLoseNothing, startTraffic } from './traffic.ts'

const selectorOf = (part: string) =>
  part === 'worker' ? 'privatemode.role=worker' : `app.kubernetes.io/component=${part}`

export async function tryFailures({ cluster, rows }: Scene): Promise<void> {
  const url = `http://${await cluster.addressOf(deployments.proxy)}:8080`
  for (const part of ['gateway', 'worker'] as const) {
    await rows.try(`one of two ${part}s is killed under traffic`, async () => {
      const traffic = startTraffic(url)
      await cluster.until('traffic', async () => traffic.answered() > 50)
      await cluster.kubectl(['delete', 'pod', await oneOf(cluster, part), '--force'])
      const atKill = traffic.answered()
      await cluster.untilRolledOut(deployments[part])
      const outcome = await traffic.end(atKill + 200)
      // What was in flight in a program that is gone cannot be asked again by anyone but the client.
      must(outcome.lost.length <= 8, `${formatOutcome(outcome)}: ${outcome.lost[0]}`)
      return formatOutcome(outcome)
    })
  }
  await rows.try('a worker is evicted from its node under traffic', async () => {
    const traffic = startTraffic(url)
    await cluster.until('traffic', async () => traffic.answered() > 50)
    const name = await oneOf(cluster, 'worker')
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace: cluster.namespace },
    }
    const path = `/api/v1/namespaces/${cluster.namespace}/pods/${name}/eviction`
    await cluster.kubectl(['create', '--raw', path, '-f', '-'], { input: JSON.stringify(eviction) })
    await cluster.kubectl(['wait', '--for=delete', `pod/${name}`, '--timeout=170s'])
    await cluster.untilRolledOut(deployments.worker)
    return mustLoseNothing(await traffic.end(0))
  })
}

async function oneOf(cluster: Cluster, part: string): Promise<string> {
  const pods = await cluster.pods(selectorOf(part))
  const [first] = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  must(first !== undefined, `there is no ${part}`)
  return first.metadata.name
}
