/** Every part is replaced while clients ask; with two of each, nobody may notice. */
import type { Cluster } from './cluster.ts'
import type { Page } from './page.ts'
import type { Scene } from './scene.ts'
import { mustLoseNothing, startTraffic } from './traffic.ts'

export const deployments = {
  gateway: 'privatemode-gateway-main',
  worker: 'privatemode-worker-chat-main',
  proxy: 'privatemode-proxy-demo',
} as const

export async function tryRollouts({ cluster, rows, page, requests }: Scene): Promise<void> {
  const isScaled = await rows.try('two gateways, two workers and two proxies', () =>
    scale(cluster, page),
  )
  if (!isScaled) return
  const url = `http://${await cluster.addressOf(deployments.proxy)}:8080`
  for (const [part, deployment] of Object.entries(deployments)) {
    await rows.try(`every ${part} is replaced under traffic`, async () => {
      const traffic = startTraffic(url)
      let times = 0
      try {
        // Again until there were enough requests.
        do {
          await cluster.restart(deployment)
          times++
        } while (traffic.answered() < requests)
      } finally {
        await traffic.end(0)
      }
      return `${mustLoseNothing(await traffic.end(0))}, ${times} rollouts`
    })
  }
}

/** The same releases, as an operator would make them larger. */
async function scale(cluster: Cluster, page: Page): Promise<string> {
  const options = { cwd: page.folder, limitMs: 600_000 }
  const keep = ['--reuse-values', '--wait', '--timeout', '9m']
  await cluster.helm(
    [
      ...['upgrade', 'main', 'deploy/backend', ...keep],
      ...['--set', 'gateway.replicaCount=2', '--set', 'workers[0].replicas=2'],
    ],
    options,
  )
  await cluster.helm(
    ['upgrade', 'demo', 'deploy/chart', ...keep, '--set', 'replicaCount=2'],
    options,
  )
  const pods = await cluster.pods('app.kubernetes.io/part-of=privatemode')
  const ready = pods.filter((pod) => pod.status.phase === 'Running')
  return `${ready.length} pods run`
}
