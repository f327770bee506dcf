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
  await rows.try('one worker at a time is evicted from its node under traffic', async () => {
    const traffic = startTraffic(url)
    await cluster.until('traffic', async () => traffic.answered() > 50)
    const [name, other] = await namesOf(cluster, 'worker')
    must(name !== undefined && other !== undefined, 'there are no two workers')
    const first = await evict(cluster, name)
    must(first.code === 0, first.errors)
    const second = await evict(cluster, other)
    must(
      /disruption budget/.test(second.errors),
      `the other one was evicted, too: ${second.errors}`,
    )
    await cluster.kubectl(['wait', '--for=delete', `pod/${name}`, '--timeout=170s'])
    await cluster.untilRolledOut(deployments.worker)
    return `${mustLoseNothing(await traffic.end(0))}; the other one stays until then`
  })
}

function evict(cluster: Cluster, name: string) {
  const metadata = { name, namespace: cluster.namespace }
  const input = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata })
  const path = `/api/v1/namespaces/${cluster.namespace}/pods/${name}/eviction`
  return cluster.tryKubectl(['create', '--raw', path, '-f', '-'], { input })
}

async function oneOf(cluster: Cluster, part: string): Promise<string> {
  const [first] = await namesOf(cluster, part)
  must(first !== undefined, `there is no ${part}`)
  return first
}

async function namesOf(cluster: Cluster, part: string): Promise<string[]> {
  const pods = await cluster.pods(selectorOf(part))
  const there = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  return there.map(({ metadata }) => metadata.name)
}
