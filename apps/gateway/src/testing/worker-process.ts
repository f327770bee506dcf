/** A worker as a separate process, so that tests can kill it: real HTTP, real signatures. */

import { testModel } from './scripted-worker.ts'
import { receiptKeyPair, signUsage, usageRecord } from './signed-usage.ts'
import { registerToken } from './test-gateway.ts'

const id = process.env.WORKER_ID ?? 'w_test'
const gateways = (process.env.GATEWAYS ?? '').split(',')
const key = receiptKeyPair()
let active = 0
const waiting: unknown[] = []

/** Tokens of a request, so that a test knows what must be billed. */
export const tokensOf = (requestId: string) => (Number.parseInt(requestId.slice(0, 6), 16) % 90) + 1

if (import.meta.main) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: answer })
  const registration = () => ({
    url: `http://127.0.0.1:${server.port}`,
    models: [testModel],
    seal_key_id: 'ab'.repeat(16),
    receipt_key: Buffer.from(key.publicKey).toString('base64'),
    relay_key: Buffer.alloc(32, 7).toString('base64'),
    capacity: 100,
    active,
    draining: false,
  })
  for (;;) {
    await call('PUT', `registry/workers/${id}`, registration())
    if (waiting.length > 0) {
      const batch = waiting.slice(0, 500)
      if (await call('POST', 'registry/usage', { records: batch })) waiting.splice(0, batch.length)
    }
    await Bun.sleep(100)
  }
}

/** Tries one gateway after the other, like a load balancer. */
async function call(method: string, path: string, body: unknown): Promise<boolean> {
  for (const gateway of gateways) {
    try {
      const response = await fetch(`${gateway}/privatemode/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${registerToken}` },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(2_000),
      })
      await response.text()
      if (response.ok) return true
    } catch {
      // the next gateway
    }
  }
  return false
}

async function answer(request: Request): Promise<Response> {
  const { headers } = request
  const requestId = headers.get('privatemode-request-id') ?? ''
  const startedAt = Date.now()
  await request.bytes()
  active++
  let reported = false
  const report = (outcome: string, completionTokens: number) => {
    if (reported) return
    reported = true
    active--
    const record = usageRecord({
      request_id: requestId,
      admission: headers.get('privatemode-admission'),
      worker_id: id,
      key_ref: headers.get('privatemode-key-ref'),
      outcome,
      prompt_tokens: tokensOf(requestId),
      completion_tokens: completionTokens,
      cached_tokens: 0,
      started_at: startedAt,
      duration_ms: Date.now() - startedAt,
    })
    waiting.push(signUsage(key, record))
  }
  request.signal.addEventListener('abort', () => report('aborted', 0))
  const encoder = new TextEncoder()
  async function* pieces() {
    yield encoder.encode(`${requestId}:`)
    for (let count = 0; count < 5; count++) {
      await Bun.sleep(Math.random() * 20)
      yield encoder.encode('x'.repeat(100))
    }
    report('complete', 7)
    yield encoder.encode(':end')
  }
  return new Response(pieces(), { headers: { 'content-type': 'application/privatemode-sealed' } })
}
