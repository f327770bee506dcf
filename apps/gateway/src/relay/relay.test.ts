/** The relay over real sockets, an embedded database and scripted workers. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { maxAttestationBytes } from '@privatemode/attestation'
import { admissionShape, relayHeaders, relayText } from '@privatemode/protocol/fleet'
import { thrown } from '../../../../test/rejection.ts'
import { type ScriptedWorker, scriptedWorker, sealedHeaders } from '../testing/scripted-worker.ts'
import { receiptKeyPair, signUsage, usageRecord } from '../testing/signed-usage.ts'
import { newId, startTestGateway, type TestGateway } from '../testing/test-gateway.ts'

let gateway: TestGateway
let one: ScriptedWorker
let two: ScriptedWorker
let secret: string

beforeAll(async () => {
  gateway = await startTestGateway({
    args: ['--leaseSeconds', '600', '--firstByteTimeoutMs', '2000'],
  })
  secret = (await gateway.createKey()).secret
})

afterAll(async () => {
  await gateway.stop()
  await one.stop()
  await two.stop()
})

beforeEach(async () => {
  if (one !== undefined) await Promise.all([one.stop(), two.stop()])
  one = scriptedWorker('w_one')
  two = scriptedWorker('w_two')
  for (const worker of [one, two]) {
    await gateway.operate('DELETE', `registry/workers/${worker.id}`)
    await gateway.register(worker)
  }
})

test('a sealed request reaches the preferred worker and its answer comes back', async () => {
  const response = await gateway.seal(secret, ['w_two', 'w_one'], { body: 'ciphertext' })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/privatemode-sealed')
  expect(await response.text()).toBe('w_two answers ciphertext')
})

test('the worker sees the reference of the key and neither the key nor other headers', async () => {
  await gateway.seal(secret, ['w_one'])
  const headers = one.seen[0]?.headers
  expect(headers?.get('privatemode-key-ref')).toStartWith('key_')
  expect(headers?.get('authorization')).toBeNull()
  expect(headers?.get('privatemode-workers')).toBeNull()
  expect(JSON.stringify([...(headers ?? [])])).not.toContain(secret)
})

test('an unreachable worker is skipped', async () => {
  await one.stop()
  const response = await gateway.seal(secret, ['w_one', 'w_two'])
  expect(await response.text()).toBe('w_two answers sealed bytes')
})

test('a worker that does not know this gateway is skipped, and the client gets no error', async () => {
  one.answer = () =>
    Response.json({ error: { message: 'not you', code: 'permission_denied' } }, { status: 403 })
  const response = await gateway.seal(secret, ['w_one', 'w_two'])
  expect(await response.text()).toBe('w_two answers sealed bytes')
  const alone = await gateway.seal(secret, ['w_one'])
  expect(await alone.json()).toMatchObject({ error: { code: 'worker_unreachable' } })
})

test("every relay is authenticated with the worker's registered key", async () => {
  const requestId = newId()
  await gateway.seal(secret, ['w_one'], { requestId, body: 'four' })
  const headers = one.seen[0]?.headers ?? new Headers()
  const read = (name: keyof typeof relayHeaders) => headers.get(relayHeaders[name]) ?? ''
  const text = relayText({
    ...{ workerId: 'w_one', requestId, model: 'test-model', path: '/v1/chat/completions' },
    ...{ keyRef: read('keyRef'), admission: read('admission') },
    ...{ sentAtMs: Number(read('sentAt')), lengthBytes: 4 },
  })
  const key = Buffer.from(String(one.registration.relay_key), 'base64')
  expect(read('mac')).toBe(createHmac('sha256', key).update(text).digest('base64url'))
  expect(read('admission')).toMatch(admissionShape)
  expect(Math.abs(Number(read('sentAt')) - Date.now())).toBeLessThan(60_000)
})

test('a full worker is skipped', async () => {
  one.answer = () =>
    Response.json({ error: { message: 'full', code: 'overloaded' } }, { status: 503 })
  const response = await gateway.seal(secret, ['w_one', 'w_two'])
  expect(await response.text()).toBe('w_two answers sealed bytes')
})

test('a worker that does not start to answer is skipped', async () => {
  one.answer = () => new Promise(() => undefined)
  const response = await gateway.seal(secret, ['w_one', 'w_two'])
  expect(await response.text()).toBe('w_two answers sealed bytes')
})

test("the second worker's reservation stays when the first one reports", async () => {
  const receipts = receiptKeyPair()
  const receipt_key = Buffer.from(receipts.publicKey).toString('base64')
  await gateway.register(one, { receipt_key })
  const key = await gateway.createKey('limited', { limits: { tokens_per_month: 50 } })
  const second = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  one.answer = () => new Promise(() => undefined)
  two.answer = async () => {
    second.resolve()
    await end.promise
    return new Response('late', { headers: sealedHeaders })
  }
  const requestId = newId()
  const running = gateway.seal(key.secret, ['w_one', 'w_two'], { requestId })
  await second.promise
  const admission = one.seen[0]?.headers.get(relayHeaders.admission)
  const record = usageRecord({ admission, request_id: requestId, key_ref: key.id })
  const report = { records: [signUsage(receipts, record)] }
  const reported = await gateway.operate('POST', 'registry/usage', report)
  expect(await reported.json()).toMatchObject({ accepted: 1 })
  const next = await gateway.seal(key.secret, ['w_two'])
  expect(await next.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } })
  end.resolve()
  await running
})

test('a request that reached no worker frees its reservation at once', async () => {
  const key = await gateway.createKey('limited', { limits: { tokens_per_month: 50 } })
  await one.stop()
  const failed = await gateway.seal(key.secret, ['w_one'])
  expect(await failed.json()).toMatchObject({ error: { code: 'worker_unreachable' } })
  // Reservations that may be reported remain for a minute.
  while ((await gateway.seal(key.secret, ['w_two'])).status === 429) await Bun.sleep(20)
  expect(two.seen).toHaveLength(1)
}, 10_000)

test('a request that a worker received stays reserved, although there was no answer', async () => {
  const key = await gateway.createKey('limited', { limits: { tokens_per_month: 50 } })
  const received = Promise.withResolvers<void>()
  one.answer = () => {
    received.resolve()
    return new Promise(() => undefined)
  }
  const failed = gateway.seal(key.secret, ['w_one'])
  await received.promise
  await one.stop()
  expect(await (await failed).json()).toMatchObject({ error: { code: 'worker_unreachable' } })
  const { secret: other } = await gateway.createKey('limited', { limits: { tokens_per_month: 50 } })
  // Unused reservations are deleted in batches: with the other key's, this one's would be gone.
  for (let batch = 0; batch < 3; batch++) while (await isRefused(other)) await Bun.sleep(20)
  expect(await isRefused(key.secret)).toBe(true)
})

/** Whether a monthly limit refuses a request; otherwise it reserves, and reaches no worker. */
async function isRefused(limited: string): Promise<boolean> {
  return (await gateway.seal(limited, ['w_one'])).status === 429
}

test('when all workers are full, the client is told when to retry', async () => {
  const full = () =>
    Response.json(
      { error: { message: 'full', code: 'overloaded' } },
      { status: 503, headers: { 'retry-after': '3' } },
    )
  one.answer = full
  two.answer = full
  const response = await gateway.seal(secret, ['w_one', 'w_two'])
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('3')
  expect(await response.json()).toMatchObject({ error: { code: 'overloaded', retryable: true } })
})

test("a worker's refusal is forwarded and not retried elsewhere", async () => {
  one.answer = () =>
    Response.json({ error: { message: 'renew', code: 'unknown_key' } }, { status: 409 })
  const response = await gateway.seal(secret, ['w_one', 'w_two'])
  expect(response.status).toBe(409)
  expect(await response.json()).toMatchObject({ error: { code: 'unknown_key', retryable: true } })
  expect(two.seen).toHaveLength(0)
})

test('an unsealed success from a worker is an error: only sealed bytes are an answer', async () => {
  one.answer = () => Response.json({ choices: [] })
  const response = await gateway.seal(secret, ['w_one'])
  expect(response.status).toBe(502)
})

test('a stream comes through piece by piece', async () => {
  let proceed: () => void = () => undefined
  one.answer = () =>
    new Response(
      (async function* () {
        yield new TextEncoder().encode('first')
        await new Promise<void>((resolve) => {
          proceed = resolve
        })
        yield new TextEncoder().encode('second')
      })(),
      { headers: sealedHeaders },
    )
  const response = await gateway.seal(secret, ['w_one'])
  const reader = response.body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('first')
  proceed()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('second')
  expect((await reader.read()).done).toBe(true)
})

test('a client that disconnects stops the worker at once', async () => {
  const stopped = Promise.withResolvers<void>()
  one.answer = (request) => {
    request.signal.addEventListener('abort', () => stopped.resolve())
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
      }),
      { headers: sealedHeaders },
    )
  }
  const stop = new AbortController()
  const response = await gateway.seal(secret, ['w_one'], { signal: stop.signal })
  await response.body!.getReader().read()
  stop.abort()
  await stopped.promise
})

test('a worker that dies mid-stream leaves the client with a broken stream, never a clean end', async () => {
  one.answer = () =>
    new Response(
      (async function* () {
        yield new TextEncoder().encode('first')
        await Bun.sleep(20)
        void one.stop()
        await new Promise(() => undefined)
      })(),
      { headers: sealedHeaders },
    )
  const response = await gateway.seal(secret, ['w_one'])
  expect(await thrown(response.text())).toThrow()
})

test('unknown keys, workers and models get their own codes', async () => {
  const codeOf = async (response: Promise<Response>) => {
    const { error } = (await (await response).json()) as { error: { code: string } }
    return error.code
  }
  expect(await codeOf(gateway.seal(`${secret.slice(0, -1)}!`, ['w_one']))).toBe('invalid_api_key')
  expect(await codeOf(gateway.seal(secret, ['w_none']))).toBe('worker_unknown')
  expect(await codeOf(gateway.seal(secret, ['w_one'], { model: 'other' }))).toBe('model_not_found')
  expect(await codeOf(gateway.seal(secret, ['../..']))).toBe('malformed')
})

test('an invalid worker id is refused', async () => {
  for (const method of ['PUT', 'DELETE']) {
    const response = await gateway.operate(method, 'registry/workers/w%20one', {})
    expect(response.status).toBe(404)
  }
  expect((await gateway.operate('POST', 'registry/workers/w_one', {})).status).toBe(405)
})

test('a draining worker gets no requests and is not in the directory', async () => {
  await gateway.register(one, { draining: true })
  await gateway.operate('DELETE', 'registry/workers/w_none')
  expect(await (await gateway.seal(secret, ['w_one', 'w_two'])).text()).toStartWith('w_two')
  expect((await gateway.seal(secret, ['w_one'])).status).toBe(503)
  const directory = await fetch(`${gateway.gateway.url}/privatemode/v1/directory`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  expect(await directory.json()).toMatchObject({
    workers: [{ id: 'w_two', models: ['test-model'] }],
    models: [{ id: 'test-model' }],
  })
})

test('a nonce reaches the worker and its evidence is returned unchanged', async () => {
  const response = await askEvidence('w_one', { nonce })
  expect(await response.text()).toBe(`evidence for {"nonce":"${nonce}"}`)
})

test('evidence is served as JSON, whatever type its worker claims', async () => {
  const page = { 'content-type': 'text/html' }
  one.attest = () => new Response('<script>1</script>', { headers: page })
  const { headers } = await askEvidence('w_one', { nonce })
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('evidence is requested from live workers only, with a nonce and a size limit', async () => {
  const refusal = async (id: string, body: unknown) => {
    const response = await askEvidence(id, body)
    return ((await response.json()) as { error: { code: string } }).error.code
  }
  expect(await refusal('w_none', { nonce })).toBe('worker_unknown')
  for (const body of [{}, null, { nonce: 1 }, { nonce: 'ab' }, { nonce: nonce.toUpperCase() }]) {
    expect(await refusal('w_one', body)).toBe('invalid_value')
  }
  expect(one.seen).toEqual([])
  // What a client accepts reaches it: eight GPUs take a third of it.
  one.attest = () => new Response(new Uint8Array(maxAttestationBytes))
  expect((await askEvidence('w_one', { nonce })).status).toBe(200)
  one.attest = () => new Response(new Uint8Array(maxAttestationBytes + 1))
  expect(await refusal('w_one', { nonce })).toBe('upstream_error')
})

test('one key cannot take all requests for evidence that a worker allows at once', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  one.attest = () => held.then(() => Response.json({}))
  const greedy = Array.from({ length: 32 }, () => askEvidence('w_one', { nonce }))
  const refused = await Promise.race(greedy)
  expect(refused.status).toBe(429)
  const other = askEvidence('w_one', { nonce }, (await gateway.createKey()).secret)
  release()
  expect((await other).status).toBe(200)
  const statuses = (await Promise.all(greedy)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(26)
  expect((await askEvidence('w_one', { nonce })).status).toBe(200)
})

const nonce = '0f'.repeat(32)
const askEvidence = (id: string, body: unknown, key = secret) =>
  fetch(`${gateway.gateway.url}/privatemode/v1/workers/${id}/attestation`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })

test('a body above the buffer limit is sent to one worker only', async () => {
  const body = new Uint8Array(3 * 1024 * 1024).fill(7)
  const response = await gateway.seal(secret, ['w_one'], { body })
  expect((await response.bytes()).length).toBeGreaterThan(body.length)
  expect(one.seen[0]?.body.length).toBe(body.length)
  const oversize = new Uint8Array(36 * 1024 * 1024 + 1)
  expect((await gateway.seal(secret, ['w_one'], { body: oversize })).status).toBe(413)
})
