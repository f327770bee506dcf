/** Evaluated prompts are shared with the same salt only, wherever their state is kept. */
import { afterEach, expect, test } from 'bun:test'
import { type AskOptions, ask, storyEngine } from '../../../../../test/story-model.ts'
import type { Engine, JsonObject } from '../../engine.ts'

let engine: Engine | undefined
afterEach(async () => {
  await engine?.close()
  engine = undefined
})

const mine = 'm'.repeat(43)
const theirs = 't'.repeat(43)
const story =
  'Once upon a time there was a little girl. She had a red ball and a blue kite. '.repeat(4)
const promptTokens = 81

async function cached(
  on: Engine,
  cache_salt: string,
  body: JsonObject = {},
  options: AskOptions = {},
): Promise<number> {
  const answer = await ask(
    on,
    'completions',
    { prompt: story, max_tokens: 3, cache_salt, ...body },
    options,
  )
  expect(answer.usage.prompt_tokens).toBeGreaterThan(promptTokens - 10)
  return answer.usage.prompt_tokens_details.cached_tokens
}

test('the same salt reuses all but the last token; another salt reuses nothing', async () => {
  engine = await storyEngine()
  expect(await cached(engine, mine)).toBe(0)
  expect(await cached(engine, mine)).toBeGreaterThan(70)
  expect(await cached(engine, theirs)).toBe(0)
  expect(await cached(engine, `${mine}x`)).toBe(0)
})

test('only the common start of two prompts is reused', async () => {
  engine = await storyEngine()
  await cached(engine, mine)
  const words = story.split(' ')
  const half = `${words.slice(0, 34).join(' ')} But then it rained. `.padEnd(story.length, 'so ')
  const reused = await cached(engine, mine, { prompt: half })
  expect(reused).toBeGreaterThan(16)
  expect(reused).toBeLessThan(60)
})

test('one sequence: states are swapped out sealed, and restored for their own salt only', async () => {
  engine = await storyEngine({ sequences: 1 })
  await cached(engine, mine)
  expect(await cached(engine, theirs)).toBe(0)
  expect(await cached(engine, mine)).toBeGreaterThan(70)
  expect(await cached(engine, theirs)).toBeGreaterThan(70)
  expect(await cached(engine, 'n'.repeat(43))).toBe(0)
})

test('a swapped state continues exactly where it stopped', async () => {
  engine = await storyEngine({ sequences: 1 })
  const body = { prompt: story, max_tokens: 20, cache_salt: mine }
  const first = await ask(engine, 'completions', body)
  await cached(engine, theirs)
  const second = await ask(engine, 'completions', body)
  expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(70)
  expect(second.choices[0].text).toBe(first.choices[0].text)
})

test('a request with a one-time salt leaves nothing behind', async () => {
  engine = await storyEngine({ sequences: 1 })
  await cached(engine, mine)
  for (let i = 0; i < 5; i++)
    expect(await cached(engine, crypto.randomUUID(), {}, { keepPrefix: false })).toBe(0)
  expect(await cached(engine, mine)).toBeGreaterThan(70)
  await cached(engine, theirs, {}, { keepPrefix: false })
  expect(await cached(engine, theirs)).toBe(0)
})

test('without space for states nothing is swapped out', async () => {
  engine = await storyEngine({ sequences: 1 }, { prefixCacheBytes: 0 })
  await cached(engine, mine)
  await cached(engine, theirs)
  expect(await cached(engine, mine)).toBe(0)
})

test('without an in-memory folder nothing is swapped out', async () => {
  engine = await storyEngine({ sequences: 1 }, { stateFolder: '/' })
  await cached(engine, mine)
  await cached(engine, theirs)
  expect(await cached(engine, mine)).toBe(0)
})

test('a running request shares its prompt with its own salt only', async () => {
  engine = await storyEngine({ sequences: 3 })
  const running = engine
  const { promise: started, resolve } = Promise.withResolvers<void>()
  const long = ask(
    running,
    'completions',
    { prompt: story, max_tokens: 100, ignore_eos: true, cache_salt: mine },
    { onUsage: ({ completionTokens }) => completionTokens > 2 && resolve() },
  )
  await started
  const [same, other] = await Promise.all([cached(running, mine), cached(running, theirs)])
  expect(same).toBeGreaterThan(70)
  expect(other).toBe(0)
  await long
})

test('the same salt on another model shares nothing', async () => {
  const twin = await storyEngine({ id: 'twin' })
  try {
    engine = await storyEngine()
    await cached(engine, mine)
    expect(await cached(twin, mine, { model: 'twin' })).toBe(0)
  } finally {
    await twin.close()
  }
})

test('a call without any salt shares nothing', async () => {
  engine = await storyEngine()
  const body = { prompt: story, max_tokens: 1, cache_salt: undefined }
  await ask(engine, 'completions', body)
  const again = await ask(engine, 'completions', body)
  expect(again.usage.prompt_tokens_details.cached_tokens).toBe(0)
})
