/** Spans on their way to a collector on loopback. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { startTraceCollector, type TraceCollector } from '../testing/trace-collector.ts'
import { formatTraceparent, parseTraceparent } from './trace-context.ts'
import { formatTraceFields } from './trace-fields.ts'
import { readTraceSettings } from './trace-settings.ts'
import { Tracer } from './tracer.ts'

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const done = { name: 'a route', failed: false, fields: { status: 200 } }
let collector: TraceCollector
let dropped = 0

beforeEach(() => {
  collector = startTraceCollector()
  dropped = 0
})
afterEach(() => collector.stop())

function tracerWith(env: Record<string, string> = {}, queueSpans?: number): Tracer {
  const settings = readTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env }, 'test')
  if (settings === undefined) throw new Error('expected settings')
  return new Tracer({
    settings,
    fetch: (url, init) => fetch(url, init),
    onDropped: (count) => {
      dropped += count
    },
    everyMs: 60_000,
    ...(queueSpans === undefined ? {} : { queueSpans }),
  })
}

test('a span reaches the collector beneath its parent, with the headers of the collector', async () => {
  const tracer = tracerWith({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector,x-team=a',
    OTEL_SERVICE_NAME: 'edge',
  })
  const span = tracer.begin(parent)
  tracer.end(span, { name: 'a route', failed: true, fields: { status: 502, code: 'timeout' } })
  await tracer.close()
  expect(collector.spans).toMatchObject([
    {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      spanId: span.spanId,
      name: 'a route',
      status: { code: 2 },
      attributes: [
        { key: 'http.response.status_code', value: { intValue: '502' } },
        { key: 'error.type', value: { stringValue: 'timeout' } },
      ],
    },
  ])
  expect(collector.received[0]).toStartWith(`${collector.url}/v1/traces `)
  for (const part of ['Bearer collector', '"x-team","a"', 'edge']) {
    expect(collector.received[0]).toContain(part)
  }
  expect(dropped).toBe(0)
})

test('unlisted fields and values with spaces are not exported', () => {
  const fields = { model: 'two words', outcome: 'x'.repeat(257), status: 200, prompt: 'a secret' }
  expect(formatTraceFields(fields)).toEqual([
    { key: 'http.response.status_code', value: { intValue: '200' } },
  ])
})

test('a full queue drops and counts', async () => {
  const tracer = tracerWith({}, 3)
  for (let count = 0; count < 5; count++) tracer.end(tracer.begin(undefined), done)
  expect(dropped).toBe(2)
  await tracer.close()
  expect(collector.spans).toHaveLength(3)
})

test('spans refused by or undeliverable to the collector are counted', async () => {
  collector.status = 503
  const tracer = tracerWith()
  tracer.end(tracer.begin(undefined), done)
  await tracer.close()
  expect(dropped).toBe(1)
  await collector.stop()
  const other = tracerWith()
  other.end(other.begin(undefined), done)
  await other.close()
  expect(dropped).toBe(2)
})

test('sampling follows the caller, the trace id, or neither', async () => {
  const unsampled = parent.replace(/01$/, '00')
  const sampled = (env: Record<string, string>, traceparent: string | undefined) => {
    const tracer = tracerWith(env)
    void tracer.close()
    return tracer.begin(traceparent).sampled
  }
  expect(sampled({}, undefined)).toBe(true)
  expect(sampled({}, unsampled)).toBe(false)
  expect(sampled({ OTEL_TRACES_SAMPLER: 'always_on' }, unsampled)).toBe(true)
  expect(sampled({ OTEL_TRACES_SAMPLER: 'always_off' }, parent)).toBe(false)
  expect(sampled({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, parent)).toBe(true)
  const half = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' }
  expect(sampled(half, parent)).toBe(true) // …1c80319c is below the middle
  expect(sampled(half, parent.replace('1c80319c', 'fc80319c'))).toBe(false)
  const tracer = tracerWith()
  tracer.end(tracer.begin(unsampled), done)
  await tracer.close()
  expect(collector.spans).toHaveLength(0)
})

test('a traceparent that is malformed, zero or of another version starts a new trace', () => {
  for (const value of [
    undefined,
    '',
    parent.toUpperCase(),
    `${parent}-00`,
    parent.replace(/^00/, '01'),
    parent.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    parent.replace('b7ad6b7169203331', '0'.repeat(16)),
  ]) {
    expect(parseTraceparent(value)).toBeUndefined()
  }
  const context = parseTraceparent(parent)
  expect(context && formatTraceparent(context)).toBe(parent)
})

test('nothing is traced without an endpoint or when turned off; invalid settings are refused', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }
  expect(readTraceSettings({}, 'test')).toBeUndefined()
  expect(readTraceSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' }, 'test')).toBeUndefined()
  expect(readTraceSettings({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, 'test')).toBeUndefined()
  expect(readTraceSettings(endpoint, 'test')?.url).toBe('http://collector:4318/v1/traces')
  for (const wrong of [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://name:word@collector' },
    { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'no pair' },
    { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=%' },
    { ...endpoint, OTEL_TRACES_SAMPLER: 'sometimes' },
    { ...endpoint, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
  ]) {
    expect(() => readTraceSettings(wrong, 'test')).toThrow(
      expect.objectContaining({ code: 'flag_invalid' }),
    )
  }
})
