/** Aborted calls: the server stops, and what it did until then is known. */
import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { EngineUsage, JsonObject } from '../engine.ts'
import { callOf, chat, closeAfterEach, connect, streamed } from '../testing/connected-engine.ts'
import { until } from '../testing/until.ts'

closeAfterEach()

/** A long call that is aborted once this many tokens are counted, and the counts it saw. */
function givenUpAt(tokens: number, fields: JsonObject = {}) {
  const aborter = new AbortController()
  const seen: EngineUsage[] = []
  const call = callOf(chat('[[words 500]] [[pace 5]]', fields), {
    signal: aborter.signal,
    onUsage: (usage) => {
      seen.push(usage)
      if (usage.completionTokens >= tokens) aborter.abort()
    },
  })
  return { call, seen }
}

test('an abort reaches the server, and usage is known', async () => {
  const { server, engine } = await connect()
  const { call, seen } = givenUpAt(3)
  expect(await rejection(streamed(engine, call))).toMatchObject({ code: 'aborted' })
  // What was on its way meanwhile is counted too.
  const { completionTokens = 0 } = seen.at(-1) ?? {}
  expect(completionTokens).toBeGreaterThanOrEqual(3)
  expect(completionTokens).toBeLessThan(500)
  await until(() => server.requests[0]?.wasAborted === true)
})

test('an aborted unstreamed answer still counts its prompt', async () => {
  const { server, engine } = await connect()
  const aborter = new AbortController()
  let usage: EngineUsage | undefined
  const call = callOf(chat('[[slow 5000]] one two'), {
    signal: aborter.signal,
    onUsage: (u) => (usage = u),
  })
  const answering = engine.call(call)
  await until(() => server.requests.length > 0)
  aborter.abort()
  expect(await rejection(answering)).toMatchObject({ code: 'aborted' })
  expect(usage?.promptTokens).toBe(5)
  await until(() => server.requests[0]?.wasAborted === true)
})

test('an aborted unstreamed answer counts what was generated for it', async () => {
  for (const kind of ['vllm', 'sglang'] as const) {
    const { server, engine } = await connect({ kind })
    const { call, seen } = givenUpAt(3)
    expect(await rejection(engine.call(call))).toMatchObject({ code: 'aborted' })
    expect(seen.at(-1)?.promptTokens).toBe(5)
    expect(seen.at(-1)?.completionTokens).toBeWithin(3, 50)
    await until(() => server.requests[0]?.wasAborted === true)
  }
})

test('all choices of an aborted call are counted', async () => {
  for (const stream of [true, false]) {
    const { engine } = await connect()
    const { call, seen } = givenUpAt(12, { n: 3 })
    const answering = stream ? streamed(engine, call) : engine.call(call)
    expect(await rejection(answering)).toMatchObject({ code: 'aborted' })
    // Each choice is counted separately: twelve tokens are four of each.
    expect(seen.findIndex(({ completionTokens }) => completionTokens === 12)).toBe(11)
    expect(seen.at(-1)?.promptTokens).toBe(5)
  }
})

test('for a server that counts only at the end, what it sent is counted', async () => {
  const { engine } = await connect({ kind: 'ollama' }, { acceptSharedCache: true })
  const aborter = new AbortController()
  let usage: EngineUsage | undefined
  let settling: Promise<void> | undefined
  const call = callOf(chat('[[words 500]] [[pace 5]]'), {
    ...{ stream: true, signal: aborter.signal },
    onUsage: (u) => (usage = u),
    onSettling: (counts) => (settling = counts),
  })
  const answer = await engine.call(call)
  if (answer.kind !== 'stream') throw new Error('not streamed')
  const chunks = answer.chunks[Symbol.asyncIterator]()
  for (let i = 0; i < 4; i++) await chunks.next()
  aborter.abort()
  await settling
  expect(usage?.completionTokens).toBeGreaterThanOrEqual(4)
  await chunks.next().catch(() => {})
})

test('a stream that closes without its end marker has failed, even if it closed cleanly', async () => {
  for (const endpoint of ['messages', 'responses'] as const)
    for (const end of [[], [{ raw: '[DONE]' }]]) {
      const { server, engine } = await connect({ native: [endpoint] })
      server.change({ reviseEvents: (all) => [...all.slice(0, -1), ...end] })
      const body = { ...chat('hello'), input: 'hello', max_tokens: 9 }
      const reading = streamed(engine, callOf(body, { endpoint }))
      expect(await rejection(reading)).toMatchObject({ code: 'engine_failed' })
    }
})

test('an iterator that is left early frees its slot', async () => {
  const { engine } = await connect({}, { maxConcurrent: 1 })
  const answer = await engine.call(callOf(chat('[[words 500]] [[pace 5]]'), { stream: true }))
  if (answer.kind === 'stream') for await (const _ of answer.chunks) break
  expect((await engine.call(callOf(chat('b')))).kind).toBe('complete')
})

/** Connected to a server that counts only what it answers, for two calls at once. */
async function connectForTwo() {
  const connected = await connect({ kind: 'ollama' }, { acceptSharedCache: true, maxConcurrent: 2 })
  const { server, engine } = connected
  const body = chat('[[slow 60000]] one two')
  const begin = () => {
    const aborter = new AbortController()
    const seen: EngineUsage[] = []
    const call = callOf(body, { signal: aborter.signal, onUsage: (usage) => seen.push(usage) })
    return { answering: rejection(engine.call(call)), seen, abort: () => aborter.abort() }
  }
  const running = () => server.requests.filter(({ wasAborted }) => !wasAborted)
  return { ...connected, body, begin, running }
}

test('prompts of aborted calls are counted within the limit of calls, and else estimated', async () => {
  const { begin, running } = await connectForTwo()
  const [first, second] = [begin(), begin()]
  await until(() => running().length === 2)
  first.abort()
  begin() // takes its place
  expect(await first.answering).toMatchObject({ code: 'aborted' })
  expect(first.seen.at(-1)?.promptTokens).toBeGreaterThan(0)
  second.abort()
  await until(() => running().some(({ body }) => body.max_tokens === 1))
  await until(() => running().length === 2)
  expect(await begin().answering).toMatchObject({ code: 'overloaded' })
})

test('tokens are counted by calls within the limit, and an abort ends them', async () => {
  const { engine, body, running } = await connectForTwo()
  const aborter = new AbortController()
  const count = () => rejection(engine.countTokens(body, 'chat', aborter))
  const counts = [count(), count()]
  await until(() => running().length === 2)
  expect(await count()).toMatchObject({ code: 'overloaded' })
  aborter.abort()
  for (const counted of counts) expect(await counted).toMatchObject({ code: 'aborted' })
  await until(() => running().length === 0)
})
