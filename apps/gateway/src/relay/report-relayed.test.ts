/** Traces of the gateway at a collector on loopback: where requests went, and nothing they carry. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTraceCollector, type TraceCollector } from '@privatemode/service/testing'
import { type ScriptedWorker, scriptedWorker } from '../testing/scripted-worker.ts'
import {
  adminToken,
  registerToken,
  startTestGateway,
  type TestGateway,
} from '../testing/test-gateway.ts'

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const args = ['--leaseSeconds', '600']
let collector: TraceCollector
let traced: TestGateway
let plain: TestGateway
let worker: ScriptedWorker

beforeAll(async () => {
  collector = startTraceCollector()
  worker = scriptedWorker('w_one')
  traced = await startTestGateway({ args, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  plain = await startTestGateway({ args })
  for (const gateway of [traced, plain]) await gateway.register(worker)
})

afterAll(async () => {
  await plain.stop()
  await worker.stop()
  await collector.stop()
})

test("without tracing, a caller's traceparent and tracestate are not forwarded", async () => {
  const { secret } = await plain.createKey()
  const headers = { traceparent: parent, tracestate: 'vendor=value' }
  expect((await plain.seal(secret, ['w_one'], { headers })).status).toBe(200)
  const seen = worker.seen.at(-1)?.headers
  expect(seen?.get('traceparent')).toBeNull()
  expect(seen?.get('tracestate')).toBeNull()
})

test('spans contain model, worker and sizes; the worker gets the span; no secret is exported', async () => {
  const { id, secret } = await traced.createKey('name-of-the-key')
  const headers = {
    traceparent: parent,
    tracestate: 'vendor=marked-state',
    'x-note': 'marked-note',
  }
  const more = { headers, body: 'marked-body', requestId: 'ab'.repeat(16) }
  expect((await traced.seal(secret, ['w_one'], more)).status).toBe(200)
  const handed = worker.seen.at(-1)?.headers.get('traceparent') ?? ''
  expect(worker.seen.at(-1)?.headers.get('tracestate')).toBeNull()
  expect((await traced.seal(secret, ['w_one'], { model: 'marked-model' })).status).toBe(404)
  expect((await traced.seal('marked-key', ['w_one'])).status).toBe(401)
  await traced.stop()
  const [relayed, ...refused] = collector.spans
  expect(handed).toBe(`00-${relayed?.traceId}-${relayed?.spanId}-01`)
  expect(relayed).toMatchObject({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    parentSpanId: 'b7ad6b7169203331',
    name: 'POST /privatemode/v1/sealed',
    attributes: expect.arrayContaining([
      { key: 'privatemode.model', value: { stringValue: 'test-model' } },
      { key: 'privatemode.worker', value: { stringValue: 'w_one' } },
      { key: 'privatemode.outcome', value: { stringValue: 'complete' } },
      { key: 'http.request.body.size', value: { intValue: '11' } },
    ]),
  })
  expect(refused.map(({ attributes }) => attributes.at(-1)?.value)).toEqual([
    { stringValue: 'model_not_found' },
    { stringValue: 'invalid_api_key' },
  ])
  const everything = collector.received.join('\n')
  for (const kept of [
    secret,
    id,
    adminToken,
    registerToken,
    'marked',
    'name-of-the-key',
    'abab',
    'answers',
  ]) {
    expect(everything).not.toContain(kept)
  }
})
