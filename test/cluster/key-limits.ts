/** A key's limit holds exactly, however many gateways count. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { must } from '../confined/rows.ts'
import type { Cluster } from './cluster.ts'
import { askGateway } from './gateway-command.ts'
import { deployments } from './rollouts.ts'
import type { Scene } from './scene.ts'

const limit = 40
const asked = 120

export async function tryKeyLimits({ cluster, rows, page }: Scene): Promise<void> {
  await rows.try('a limit per key is exact over two gateways and four workers', async () => {
    await scale(cluster, 4)
    const gateways = await cluster.pods('app.kubernetes.io/component=gateway')
    must(gateways.length === 2, `there are ${gateways.length} gateways`)
    const { id } = JSON.parse(readFileSync(join(page.folder, 'cluster/key.json'), 'utf8'))
    await setLimits(cluster, id, ['--requestsPerMinute', String(limit)])
    try {
      const url = `http://${await cluster.addressOf(deployments.proxy)}:8080`
      // What was asked before the limit was set counts towards its first minute.
      await Bun.sleep(61_000)
      const started = performance.now()
      const statuses = await Promise.all(Array.from({ length: asked }, () => ask(url)))
      must(performance.now() - started < 55_000, 'too slow to tell: it took more than a minute')
      const count = (status: number) => statuses.filter((one) => one === status).length
      const seen = `${count(200)} answered and ${count(429)} refused of ${asked}`
      must(count(200) === limit && count(429) === asked - limit, `${seen}; ${new Set(statuses)}`)
      return `limit ${limit}: ${seen}`
    } finally {
      await setLimits(cluster, id, [])
      await scale(cluster, 2)
    }
  })
}

async function scale(cluster: Cluster, workers: number): Promise<void> {
  await cluster.kubectl(['scale', `deployment/${deployments.worker}`, `--replicas=${workers}`])
  await cluster.untilRolledOut(deployments.worker)
}

async function ask(url: string): Promise<number> {
  const content = '[[say all is well]]'
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content }] }),
    signal: AbortSignal.timeout(60_000),
  })
  await response.arrayBuffer()
  return response.status
}

async function setLimits(cluster: Cluster, id: string, limits: string[]): Promise<void> {
  await askGateway(cluster, 'keys', 'limit', '--id', id, ...limits)
}
