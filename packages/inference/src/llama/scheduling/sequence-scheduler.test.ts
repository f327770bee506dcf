/** Many requests on few sequences: order, limits, aborts, shutdown. */
import { afterEach, expect, test } from 'bun:test'
import { rejection, thrown } from '../../../../../test/rejection.ts'
import { ask, askStream, collect, storyEngine } from '../../../../../test/story-model.ts'
import type { Engine } from '../../engine.ts'

let engine: Engine | undefined
afterEach(async () => {
  await engine?.close()
  engine = undefined
})

const prompt = 'Once upon a time'
const long = { prompt, max_tokens: 150, ignore_eos: true }

test('four concurrent requests yield the same answers as each alone', async () => {
  engine = await storyEngine({ sequences: 4 })
  const running = engine
  const prompts = ['The cat', 'The dog', 'One day', 'Tom and Sue']
  const told = (prompt: string) =>
    ask(running, 'completions', { prompt, max_tokens: 20 }).then((answer) => answer.choices[0].text)
  const together = await Promise.all(prompts.map(told))
  for (const [at, prompt] of prompts.entries()) expect(together[at]).toBe(await told(prompt))
})

test('more requests than sequences wait their turn', async () => {
  engine = await storyEngine({ sequences: 2 })
  const running = engine
  const answers = await Promise.all(
    Array.from({ length: 7 }, () => ask(running, 'completions', { prompt, max_tokens: 5 })),
  )
  expect(new Set(answers.map((answer) => answer.choices[0].text)).size).toBe(1)
})

test('a full queue is refused with a retry time, and drains again', async () => {
  engine = await storyEngine({ sequences: 1 }, { maxWaiting: 1 })
  const stop = new AbortController()
  // All three are sent in one turn: nothing depends on how long the first one takes.
  const first = askStream(engine, 'completions', long, { signal: stop.signal }).then(collect)
  const second = ask(engine, 'completions', { prompt, max_tokens: 1 })
  const refused = await ask(engine, 'completions', { prompt }).catch((error) => error)
  expect(refused).toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 2 })
  stop.abort()
  expect(await first.catch((error) => error)).toMatchObject({ code: 'aborted' })
  expect((await second).usage.completion_tokens).toBe(1)
})

test('a waiting request that is aborted leaves immediately and costs nothing', async () => {
  engine = await storyEngine({ sequences: 1 })
  const busy = ask(engine, 'completions', long)
  const stop = new AbortController()
  const reports: unknown[] = []
  const options = { signal: stop.signal, onUsage: (usage: unknown) => reports.push(usage) }
  const waiting = ask(engine, 'completions', { prompt }, options)
  queueMicrotask(() => stop.abort())
  expect(await waiting.catch((error) => error)).toMatchObject({ code: 'aborted' })
  expect(reports).toEqual([])
  await busy
})

test('an abort while generating ends within a token or two', async () => {
  engine = await storyEngine()
  const stop = new AbortController()
  let tokens = 0
  const onUsage = ({ completionTokens }: { completionTokens: number }): void => {
    tokens = completionTokens
    if (tokens === 10) stop.abort()
  }
  const asked = ask(engine, 'completions', long, { signal: stop.signal, onUsage })
  expect(await asked.catch((error) => error)).toMatchObject({ code: 'aborted' })
  expect(tokens).toBeLessThanOrEqual(11)
})

test('an abort inside a long prompt does not wait for its end', async () => {
  engine = await storyEngine({ sequences: 1 })
  const stop = new AbortController()
  let usage = { promptTokens: 0, completionTokens: 0 }
  const onUsage = (told: typeof usage): void => {
    usage = told
    stop.abort() // the first report comes before anything is evaluated
  }
  const body = { prompt: 'One day a cat sat on a mat. '.repeat(20), max_tokens: 5 }
  const asked = ask(engine, 'completions', body, { signal: stop.signal, onUsage })
  expect(await asked.catch((error) => error)).toMatchObject({ code: 'aborted' })
  expect(usage.completionTokens).toBe(0)
  expect(usage.promptTokens).toBeGreaterThan(100)
})

test('a call that is aborted before it starts never starts', async () => {
  engine = await storyEngine()
  const asked = ask(engine, 'completions', { prompt }, { signal: AbortSignal.abort() })
  expect(await asked.catch((error) => error)).toMatchObject({ code: 'aborted' })
})

test('closing ends running and waiting requests, and refuses new ones', async () => {
  engine = await storyEngine({ sequences: 1 })
  const running = askStream(engine, 'completions', long).then(collect)
  const waiting = ask(engine, 'completions', { prompt })
  const outcomes = Promise.allSettled([running, waiting])
  await Bun.sleep(20)
  const closing = engine
  engine = undefined
  await closing.close()
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'engine_unavailable' } })
  expect(await thrown(ask(closing, 'completions', { prompt }))).toThrow()
})

test('a file with another digest is not loaded', async () => {
  expect(await rejection(storyEngine({ sha256: '00'.repeat(32) }))).toMatchObject({
    message: expect.stringContaining('is not loaded'),
  })
  expect(await rejection(storyEngine({ path: '/no/such/file.gguf' }))).toMatchObject({
    message: expect.stringContaining('has no file'),
  })
})
