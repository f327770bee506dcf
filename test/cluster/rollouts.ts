/** Every part is replaced while clients ask; with two of each, nobody may notice. */
import type { Scene } from './scene.ts'
import { mustLoseNothing, startTraffic } from './traffic.ts'

export const deployments = {
  gateway: 'privatemode-gateway-main',
  worker: 'privatemode-worker-chat-main',
  proxy: 'privatemode-proxy-demo',
} as const

export async function tryRollouts({ cluster, rows, requests, rollouts }: Scene): Promise<void> {
  const url = `http://${await cluster.addressOf(deployments.proxy)}:8080`
  for (const [part, deployment] of Object.entries(deployments)) {
    await rows.try(`every ${part} is replaced under traffic`, async () => {
      const traffic = startTraffic(url)
      let times = 0
      try {
        // Again until there were enough requests and rollouts.
        do {
          await cluster.restart(deployment)
          times++
        } while (times < rollouts || traffic.answered() < requests)
      } finally {
        await traffic.end(0)
      }
      return `${mustLoseNothing(await traffic.end(0))}, ${times} rollouts`
    })
  }
}
