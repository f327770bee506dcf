/** Two gateways and three workers on a real PostgreSQL, and what remains true when one is killed. */
import { afterAll, beforeAll, expect } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import type { Row } from './state/database.ts'
import {
  type GatewayCluster,
  seal,
  startGatewayCluster,
  untilHealthy,
} from './testing/gateway-cluster.ts'
import { missingPostgres } from './testing/postgres-server.ts'
import { newId, registerToken } from './testing/test-gateway.ts'
import { tokensOf } from './testing/worker-process.ts'

const noPostgres = missingPostgres()

let cluster: GatewayCluster

beforeAll(async () => {
  if (noPostgres === undefined) cluster = await startGatewayCluster()
})

afterAll(() => cluster?.stop())

unlessMissing(noPostgres).test(
  'kill -9 of a gateway, a worker or the database under load loses no row and doubles none',
  async () => {
    const load = startLoad()
    await load.answer(30)
    await cluster.gateways[0]!.kill()
    await load.answer(5)
    cluster.gateways[0]!.restart()
    await untilHealthy(cluster.urls[0]!)
    await load.answer(20)
    await cluster.workers[1]!.kill()
    await load.answer(20)
    await cluster.postgres.kill()
    await cluster.postgres.start()
    await load.answer(30)
    const answered = await load.stop()
    expect(answered.wrong).toEqual([])
    expect(answered.complete.length).toBeGreaterThan(100)

    const rows = await untilBooked(answered.complete)
    // Every answer a client received completely is booked once, as reported by the worker or as lost
    // with it.
    for (const requestId of answered.complete) {
      const row = rows.get(requestId)
      expect(row).toBeDefined()
      if (row?.outcome === 'lost') expect(row.worker_id).toBe('w_two')
      else expect(row).toMatchObject({ outcome: 'complete', prompt_tokens: tokensOf(requestId) })
    }
    expect(rows.size).toBeLessThanOrEqual(answered.sent)
    const [sums] = await cluster.database.query(
      `select (select sum(requests) from usage_hourly) as hourly, (select count(*) from usage) as rows,
       (select sum(prompt_tokens + completion_tokens) from usage_hourly) as hourly_tokens,
       (select sum(prompt_tokens + completion_tokens) from usage) as tokens,
       (select tokens from usage_monthly where subject = 'acct_default') as monthly_tokens`,
    )
    expect(sums?.hourly).toBe(sums?.rows)
    expect(sums?.hourly_tokens).toBe(sums?.tokens)
    expect(sums?.monthly_tokens).toBe(sums?.tokens)
  },
  120_000,
)

unlessMissing(noPostgres).test(
  'a limit per minute holds across gateways within two percent',
  async () => {
    const limited = await cluster.createKey({ limits: { requests_per_minute: 600 } })
    let admitted = 0
    const startMs = performance.now()
    let lastMs = startMs
    // For at least four seconds, and until no request is admitted any more; within the minute of the
    // limit.
    const goesOn = () => {
      const [sinceMs, quietMs] = [performance.now() - startMs, performance.now() - lastMs]
      return sinceMs < 4_000 || (quietMs < 2_000 && sinceMs < 40_000)
    }
    const client = async (url: string) => {
      while (goesOn() && admitted <= 700) {
        const response = await seal(url, limited.secret, newId())
        await response.arrayBuffer()
        if (response.status !== 200) await Bun.sleep(20)
        else {
          admitted++
          lastMs = performance.now()
        }
      }
    }
    await Promise.all(Array.from({ length: 24 }, (_, index) => client(cluster.urls[index % 2]!)))
    expect(admitted).toBeGreaterThanOrEqual(588)
    expect(admitted).toBeLessThanOrEqual(612)
  },
)

unlessMissing(noPostgres).test(
  'a key revoked at one gateway is refused at both within two seconds',
  async () => {
    const revoked = await cluster.createKey({})
    const status = async (url: string) => {
      const headers = { authorization: `Bearer ${revoked.secret}` }
      const response = await fetch(`${url}/privatemode/v1/directory`, { headers })
      await response.text()
      return response.status
    }
    for (const url of cluster.urls) expect(await status(url)).toBe(200)
    await cluster.revokeKey(revoked.id)
    const startMs = performance.now()
    let acceptedMs = 0
    for (const url of cluster.urls) {
      for (let sentMs = 0; ; await Bun.sleep(20)) {
        sentMs = performance.now() - startMs
        if ((await status(url)) !== 200) break
        acceptedMs = Math.max(acceptedMs, sentMs)
      }
    }
    // When the last request was sent that was still answered; how long answers take does not matter.
    expect(acceptedMs).toBeLessThan(2_000)
  },
)

unlessMissing(noPostgres).test(
  'a worker that leaves learns how long the other gateway may not know of it',
  async () => {
    const answer = await fetch(`${cluster.urls[0]}/privatemode/v1/registry/workers/w_leaving`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${registerToken}` },
    })
    expect(await answer.json()).toEqual({ left: true, linger_seconds: 3 })
  },
)

unlessMissing(noPostgres).test(
  'a worker that dies vanishes from every gateway within seconds',
  async () => {
    await cluster.workers[2]!.kill()
    const startMs = performance.now()
    await Promise.all(cluster.urls.map((url) => cluster.untilWorkers(url, 1)))
    expect(performance.now() - startMs).toBeLessThan(8_000)
  },
)

/**
 * Clients that send requests continuously; what they received completely, and what only looked
 * complete.
 */
function startLoad() {
  let running = true
  const found = { complete: [] as string[], wrong: [] as string[], sent: 0 }
  const client = async (index: number) => {
    for (let turn = index; running; turn++) {
      const requestId = newId()
      found.sent++
      try {
        const response = await seal(cluster.urls[turn % 2]!, cluster.key.secret, requestId)
        const text = await response.text()
        if (response.status !== 200) await Bun.sleep(10)
        else if (text === `${requestId}:${'x'.repeat(500)}:end`) found.complete.push(requestId)
        else found.wrong.push(text)
      } catch {
        await Bun.sleep(10) // a broken connection is not an answer
      }
    }
  }
  const clients = Promise.all(Array.from({ length: 16 }, (_, index) => client(index)))
  return {
    /** Waits for this many more complete answers. */
    async answer(count: number) {
      const wanted = found.complete.length + count
      while (found.complete.length < wanted) await Bun.sleep(20)
    },
    async stop() {
      running = false
      await clients
      return found
    },
  }
}

type Booked = Row & {
  request_id: string
  outcome: string
  worker_id: string
  prompt_tokens: number
}

async function untilBooked(requestIds: readonly string[]): Promise<Map<string, Booked>> {
  for (let tries = 0; ; tries++) {
    const rows = await cluster.database.query<Booked>(
      `select replace(request_id::text, '-', '') as request_id, outcome, worker_id, prompt_tokens
       from usage`,
    )
    const booked = new Map(rows.map((row) => [row.request_id, row]))
    const open = requestIds.filter((id) => {
      const row = booked.get(id)
      return row === undefined || (row.outcome === 'lost' && row.worker_id !== 'w_two')
    })
    if (open.length === 0 || tries > 300) return booked
    await Bun.sleep(100)
  }
}
