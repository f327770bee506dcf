/** Counts inside a stream: those of one choice, of one prompt, and of all together. */
import { expect, test } from 'bun:test'
import type { EngineUsage, JsonObject } from '../engine.ts'
import { type StreamCall, StreamCounts } from './stream-counts.ts'

const chunk = (index: number, prompt_tokens: number, completion_tokens: number): JsonObject => ({
  choices: [{ index, text: 'a' }],
  usage: { prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens: 1 } },
})

function read(chunks: readonly JsonObject[], n: unknown, isPerChoice = true): EngineUsage[] {
  const told: EngineUsage[] = []
  const call: StreamCall = {
    endpoint: 'completions',
    body: { n },
    signal: new AbortController().signal,
    onUsage: (usage) => told.push(usage),
  }
  const counts = new StreamCounts(call, isPerChoice)
  for (const one of chunks) counts.read(one)
  counts.estimate()
  return told
}

test('counts per choice are added up, and their common prompt counts once', () => {
  const told = read([chunk(0, 5, 1), chunk(1, 5, 1), chunk(0, 5, 2), chunk(1, 5, 4)], 2)
  expect(told.map(({ completionTokens }) => completionTokens)).toEqual([1, 2, 3, 6])
  expect(told.at(-1)).toEqual({ promptTokens: 5, cachedTokens: 1, completionTokens: 6 })
})

test('prompts of one call are added up as well, two choices each', () => {
  const told = read([chunk(0, 5, 1), chunk(3, 7, 2), chunk(2, 7, 1), chunk(1, 5, 1)], 2)
  expect(told.at(-1)).toEqual({ promptTokens: 12, cachedTokens: 2, completionTokens: 5 })
  const single = read([chunk(0, 5, 1), chunk(1, 7, 2)], undefined)
  expect(single.at(-1)).toEqual({ promptTokens: 12, cachedTokens: 2, completionTokens: 3 })
})

test('a count without a choice, and any count of a server that counts at the end, covers all choices', () => {
  const last = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 9 } }
  expect(read([chunk(0, 5, 1), chunk(1, 5, 1), last], 2).at(-1)?.completionTokens).toBe(9)
  const atEnd = read([chunk(0, 5, 8), chunk(1, 5, 8)], 2, false)
  expect(atEnd.at(-1)?.completionTokens).toBe(8)
})

test("llama-server's timings are per-choice counts too", () => {
  const timed = (index: number, predicted_n: number) => ({
    choices: [{ index }],
    timings: { cache_n: 2, prompt_n: 3, predicted_n },
  })
  const told = read([timed(0, 1), timed(1, 1), timed(0, 2)], 2)
  expect(told.at(-1)).toEqual({ promptTokens: 5, cachedTokens: 2, completionTokens: 3 })
})

test('llama-server ends each choice with its own counts, after it and without its index', () => {
  const finish = (index: number) => ({ choices: [{ index, finish_reason: 'stop' }] })
  const end = (predicted_n: number) => ({
    choices: [],
    usage: { prompt_tokens: 5, completion_tokens: predicted_n },
    timings: { cache_n: 0, prompt_n: 5, predicted_n },
  })
  const told = read([finish(0), end(9), finish(1), end(8)], 2)
  expect(told.at(-1)).toMatchObject({ promptTokens: 5, completionTokens: 17 })
})
