import { expect, test } from 'bun:test'
import { createLog, type Log } from '@privatemode/service'
import { type WorkerApp, workerHandler } from './app.ts'
import { RelayGuard } from './relay/accept-relay.ts'
import { RelayKeys } from './relay/relay-keys.ts'
import type { GatewayView } from './sealed/answer-sealed.ts'
import { RequestMemory } from './sealed/request-memory.ts'
import { WorkerError } from './worker-error.ts'

const statement = new TextEncoder().encode('{}')
const silent = createLog({ format: 'json', level: 8, write: () => {} })

const maxBodyBytes = 256 * 1024

const ownRelays = () => new RelayGuard('w_1', new RelayKeys(), () => new Date())
/** Accepts every request as if the worker's gateway had relayed it, for tests of later stages. */
const anyRelay = { accept: () => ({}) as GatewayView }

function handlerWith(
  produce: () => Promise<never>,
  log: Log = silent,
  relays: WorkerApp['relays'] = ownRelays(),
) {
  const service = { keys: { current: async () => ({ statement }) } }
  const evidence = { description: 'none', produce }
  const metrics = { refused: () => {} }
  const requestMemory = new RequestMemory(maxBodyBytes)
  const app = {
    service,
    evidence,
    relays,
    log,
    metrics,
    maxBodyBytes,
    requestMemory,
    attestAtOnce: 2,
  }
  return workerHandler(app as unknown as WorkerApp)
}

const attest = (body: string) =>
  new Request('http://worker/privatemode/v1/attestation', { method: 'POST', body })
const nonce = JSON.stringify({ nonce: 'ab'.repeat(32) })

test('concurrent attestations are bounded; excess callers are asked to retry', async () => {
  const handle = handlerWith(() => new Promise<never>(() => {}))
  void handle(attest(nonce))
  void handle(attest(nonce))
  const third = await handle(attest(nonce))
  expect(third.status).toBe(503)
  expect(third.headers.get('retry-after')).toBe('1')
})

test('callers that never finish sending their nonce do not count', async () => {
  let produced = 0
  const handle = handlerWith(() => {
    produced++
    return Promise.reject(new Error('produced'))
  })
  const url = 'http://worker/privatemode/v1/attestation'
  for (let count = 0; count < 3; count++) {
    const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{')) })
    void handle(new Request(url, { method: 'POST', body }))
  }
  await handle(attest(nonce))
  expect(produced).toBe(1)
})

test('a nonce that is not 32 bytes in hex is refused', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  for (const body of [
    '',
    '{}',
    '{"nonce":1}',
    '{"nonce":"ab"}',
    `{"nonce":"${'AB'.repeat(32)}"}`,
  ]) {
    const response = await handle(attest(body))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'malformed' } })
  }
})

test('busy hardware is distinguished from failing hardware', async () => {
  const busy = new WorkerError('evidence_overloaded', '32 already wait')
  const overloaded = await handlerWith(() => Promise.reject(busy))(attest(nonce))
  expect(overloaded.status).toBe(503)
  expect(overloaded.headers.get('retry-after')).toBe('1')
})

test('a hardware failure is explained to the operator, not to the caller', async () => {
  const lines: string[] = []
  const watched = createLog({ format: 'text', level: 8, write: (text) => lines.push(text) })
  const failure = new WorkerError('report_conflict', 'generation is 3, expected 1')
  const response = await handlerWith(() => Promise.reject(failure), watched)(attest(nonce))
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('generation')
  expect(lines.join('')).toContain('code=report_conflict detail="generation is 3, expected 1"')
  await handlerWith(() => Promise.reject(new TypeError('of a request')), watched)(attest(nonce))
  expect(lines.join('')).toContain('code=TypeError')
  expect(lines.join('')).not.toContain('of a request')
})

test('an unexpected failure does not reveal its cause', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('secret detail')))
  const response = await handle(attest(nonce))
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('secret detail')
})

test('a sealed request that no gateway relayed is refused before its body is read', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  const body = new ReadableStream({
    pull: () => Promise.reject(new Error('the body was read')),
  })
  const headers = { 'privatemode-request-id': 'f0'.repeat(16), 'privatemode-key-ref': 'key_1' }
  const sealed = new Request('http://worker/privatemode/v1/sealed', {
    ...{ method: 'POST', headers, body },
  })
  const response = await handle(sealed)
  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ error: { code: 'permission_denied' } })
})

test('other paths, methods and oversize bodies are refused', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  expect((await handle(new Request('http://worker/elsewhere', { method: 'POST' }))).status).toBe(
    404,
  )
  expect((await handle(new Request('http://worker/privatemode/v1/sealed'))).status).toBe(404)
  expect((await handle(attest('x'.repeat(2000)))).status).toBe(413)
  expect((await handle(new Request('http://worker/health'))).status).toBe(200)
})

/** A sealed request whose first byte never arrives. */
const endless = (headers: Record<string, string>) =>
  new Request('http://worker/privatemode/v1/sealed', {
    method: 'POST',
    headers,
    body: new ReadableStream({}),
  })

test('memory for a request is reserved before it is read, even without a declared length', async () => {
  for (const first of [{ 'content-length': String(maxBodyBytes) }, {}]) {
    const handle = handlerWith(() => Promise.reject(new Error('not asked')), silent, anyRelay)
    void handle(endless(first))
    const second = await handle(endless({ 'content-length': String(100_000) }))
    expect(second.status).toBe(503)
    expect(await second.json()).toMatchObject({ error: { code: 'overloaded', retryable: true } })
  }
})

test('a refused request releases its memory', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')), silent, anyRelay)
  const sealed = () =>
    new Request('http://worker/privatemode/v1/sealed', {
      method: 'POST',
      body: new Uint8Array(maxBodyBytes + 1),
    })
  for (let i = 0; i < 3; i++) expect((await handle(sealed())).status).toBe(413)
})
