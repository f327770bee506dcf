import { expect, test } from 'bun:test'
import { MeteredEngine } from '@privatemode/inference/metered-engine'
import type { UsageRecord } from '@privatemode/protocol/envelope'
import {
  chatModel,
  ScriptedEngine,
} from '../../../../packages/inference/src/testing/scripted-engine.ts'
import { thrown } from '../../../../test/rejection.ts'
import { serveMetrics } from './serve-metrics.ts'
import { createWorkerMetrics } from './worker-metrics.ts'

const record: UsageRecord = {
  version: 2,
  admission: 'a'.repeat(64),
  request_id: 'ab'.repeat(16),
  worker_id: 'w_1',
  key_ref: 'key-of-someone',
  model: chatModel.id,
  path: '/v1/chat/completions',
  status: 200,
  outcome: 'complete',
  prompt_tokens: 10,
  cached_tokens: 4,
  completion_tokens: 3,
  started_at: 1,
  duration_ms: 700,
}

test('the current isolation of each path is reported', () => {
  const metrics = createWorkerMetrics([chatModel.id])
  let state: 'proven' | 'unused' = 'proven'
  metrics.gaugeIsolation(() => [{ model: 'm', endpoint: 'chat', state, detail: 'why' }])
  const line = (word: string) =>
    `privatemode_worker_cache_isolation{model="m",endpoint="chat",state="${word}"} 1\n`
  expect(metrics.format()).toContain(line('proven'))
  state = 'unused'
  expect(metrics.format()).toContain(line('unused'))
  expect(metrics.format()).not.toContain(line('proven'))
})

test('requests and tokens are counted by model, outcome and kind', () => {
  const metrics = createWorkerMetrics([chatModel.id])
  metrics.answered(record)
  metrics.answered({ ...record, outcome: 'aborted' })
  metrics.refused('unknown_key')
  const text = metrics.format()
  for (const line of [
    'privatemode_worker_requests_total{model="org/chat-1",outcome="complete"} 1',
    'privatemode_worker_requests_total{model="org/chat-1",outcome="aborted"} 1',
    'privatemode_worker_tokens_total{model="org/chat-1",kind="prompt"} 20',
    'privatemode_worker_tokens_total{model="org/chat-1",kind="cached"} 8',
    'privatemode_worker_tokens_total{model="org/chat-1",kind="completion"} 6',
    'privatemode_worker_refusals_total{code="unknown_key"} 1',
    'privatemode_worker_request_seconds_count 2',
  ]) {
    expect(text).toContain(`${line}\n`)
  }
})

test('no key, request or client-chosen name becomes a label', () => {
  const metrics = createWorkerMetrics([chatModel.id])
  metrics.answered({ ...record, model: 'a secret plan' })
  expect(metrics.format()).toContain('requests_total{model="other",outcome="complete"} 1')
  expect(metrics.format()).not.toMatch(/secret plan|key-of-someone|abab/)
})

test('a call gives its place back when it ends, fails or is aborted, and once', async () => {
  const held: string[] = []
  const shares = {
    take: (caller: string) => held.length < 1 && held.push(caller) > 0,
    putBack: (caller: string) => void held.splice(held.indexOf(caller), 1),
  }
  const script = {
    before: ({ body }: { body: { fails?: unknown } }) => {
      if (body.fails) throw new Error('the engine failed')
    },
  }
  const engine = new MeteredEngine(new ScriptedEngine(script), createWorkerMetrics([]), shares)
  const call = (over: object = {}) =>
    engine.call({
      ...{ endpoint: 'chat', body: {}, stream: false, signal: new AbortController().signal },
      caller: 'one',
      ...over,
    })
  await call()
  expect(held).toEqual([])
  await call({ body: { fails: true } }).catch(() => {})
  expect(held).toEqual([])
  const abort = new AbortController()
  await call({ stream: true, signal: abort.signal })
  expect(held).toEqual(['one'])
  const refused = await call().catch((error) => error)
  expect(refused).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 1 })
  await call({ caller: undefined }) // of our own
  abort.abort()
  abort.abort()
  expect(held).toEqual([])
})

test('a call that is aborted keeps its place until the engine is done with it', async () => {
  let held = 0
  const shares = { take: () => ++held <= 2, putBack: () => void held-- }
  const done = Promise.withResolvers<void>()
  const script = { before: () => done.promise, tokens: 5 }
  const engine = new MeteredEngine(new ScriptedEngine(script), createWorkerMetrics([]), shares)
  const abort = new AbortController()
  const call = { endpoint: 'chat', body: {}, stream: true, signal: abort.signal } as const
  const answering = engine.call({ ...call, caller: 'one' })
  abort.abort()
  expect(held).toBe(1)
  done.resolve()
  await answering
  expect(held).toBe(0)
})

test('counting tokens takes a place of the caller', async () => {
  const held: string[] = []
  const shares = {
    take: (caller: string) => held.length < 1 && held.push(caller) > 0,
    putBack: () => void held.pop(),
  }
  const engine = new MeteredEngine(new ScriptedEngine({}), createWorkerMetrics([]), shares)
  const by = { caller: 'one', signal: new AbortController().signal }
  const counting = engine.countTokens({}, 'chat', by)
  expect(held).toEqual(['one'])
  const refused = await engine.countTokens({}, 'chat', by).catch((error) => error)
  expect(refused).toMatchObject({ code: 'rate_limit_exceeded' })
  await counting
  expect(held).toEqual([])
})

function watching(script: ConstructorParameters<typeof ScriptedEngine>[0]) {
  const metrics = createWorkerMetrics([chatModel.id])
  const engine = new MeteredEngine(new ScriptedEngine(script), metrics)
  const read = () => {
    const value = (name: string) => {
      const line = new RegExp(`^privatemode_worker_${name} (.*)$`, 'm').exec(metrics.format())
      return Number(line?.[1] ?? 0)
    }
    return [value('engine_calls'), value('engine_waiting'), value('engine_first_seconds_count')]
  }
  const call = (stream: boolean, signal = new AbortController().signal) =>
    engine.call({ endpoint: 'chat', body: {}, stream, signal })
  return { call, read }
}

test('a call waits until its first chunk and runs until its last', async () => {
  const { call, read } = watching({ deltas: [{ content: 'a' }, { content: 'b' }] })
  const answer = await call(true)
  if (answer.kind !== 'stream') throw new Error('no stream')
  expect(read()).toEqual([1, 1, 0])
  const chunks = answer.chunks[Symbol.asyncIterator]()
  await chunks.next()
  expect(read()).toEqual([1, 0, 1])
  while (!(await chunks.next()).done);
  expect(read()).toEqual([0, 0, 1])
  await chunks.return?.()
  expect(read()).toEqual([0, 0, 1])
})

test('a call that is refused, abandoned or aborted is no longer counted', async () => {
  const refused = watching({
    before() {
      throw new Error('refused')
    },
  })
  expect(await thrown(refused.call(false))).toThrow('refused')
  expect(refused.read()).toEqual([0, 0, 0])
  const { call, read } = watching({ deltas: [{ content: 'a' }] })
  const left = await call(true)
  if (left.kind === 'stream') for await (const _ of left.chunks) break
  expect(read()).toEqual([0, 0, 1])
  const stop = new AbortController()
  await call(true, stop.signal)
  expect(read()).toEqual([1, 1, 1])
  stop.abort()
  expect(read()).toEqual([0, 0, 1])
  await call(false)
  expect(read()).toEqual([0, 0, 2])
})

test('metrics have their own port with nothing else on it, disabled by default', async () => {
  const metrics = createWorkerMetrics([])
  expect(serveMetrics({ host: '127.0.0.1', metricsPort: undefined }, metrics)).toBeUndefined()
  const listener = serveMetrics({ host: '127.0.0.1', metricsPort: 0 }, metrics)
  try {
    const response = await fetch(`${listener?.url}/metrics`)
    expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
    expect(await response.text()).toContain('# TYPE privatemode_worker_requests_total counter')
    expect((await fetch(`${listener?.url}/privatemode/v1/attestation`)).status).toBe(404)
    expect((await fetch(`${listener?.url}/metrics`, { method: 'POST' })).status).toBe(404)
  } finally {
    await listener?.stop()
  }
})
