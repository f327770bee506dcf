/** Legacy completions on a real model. */
import { afterAll, expect, test } from 'bun:test'
import { rejection } from '../../../../../test/rejection.ts'
import {
  type Answer,
  ask,
  askStream,
  collect,
  storyEngine,
} from '../../../../../test/story-model.ts'

const engine = await storyEngine()
afterAll(() => engine.close())

const prompt = 'Once upon a time, there was a'
const complete = (body: object = {}) => ask(engine, 'completions', { prompt, ...body })

test('a completion has 16 tokens by default', async () => {
  const answer = await complete()
  expect(answer).toMatchObject({ object: 'text_completion', usage: { completion_tokens: 16 } })
  expect(answer.choices[0].text).toStartWith(' little')
})

test('token ids yield the same result as their text', async () => {
  const ids = [1, 9038, 2501, 263, 931]
  const [fromIds] = (await complete({ prompt: ids })).choices
  const [fromText] = (await complete({ prompt: 'Once upon a time' })).choices
  expect(fromIds.text).toBe(fromText.text)
})

test('token ids outside the vocabulary are 400', async () => {
  expect(await rejection(complete({ prompt: [1, 32_000] }))).toMatchObject({
    status: 400,
    param: 'prompt',
  })
})

test('several prompts and choices are indexed prompt by prompt', async () => {
  const body = {
    prompt: ['The cat', 'The dog', [1, 450]],
    n: 2,
    max_tokens: 2,
    temperature: 1,
    seed: 1,
  }
  const { choices, usage } = await complete(body)
  expect(choices.map((choice: Answer) => choice.index)).toEqual([0, 1, 2, 3, 4, 5])
  expect(usage.completion_tokens).toBe(12)
  const [cat] = (await complete({ ...body, prompt: 'The cat' })).choices
  expect(choices[0].text).toBe(cat.text)
})

test('logprobs report tokens, their offsets and the likeliest alternatives', async () => {
  const [choice] = (await complete({ logprobs: 2, max_tokens: 4 })).choices
  const { tokens, token_logprobs, top_logprobs, text_offset } = choice.logprobs
  expect(tokens.join('')).toBe(choice.text)
  expect(text_offset).toEqual(
    tokens.map((_: string, at: number) => tokens.slice(0, at).join('').length),
  )
  expect(token_logprobs.every((value: number) => value <= 0)).toBe(true)
  expect(Object.keys(top_logprobs[0])).toHaveLength(2)
})

test('offsets point into the text, also in an echo and while a stop string is possible', async () => {
  const [plain] = (await complete({ max_tokens: 6 })).choices
  // Everything from the third character on may become this stop string, and never does.
  const stop = [`${plain.text.slice(2)}!!`]
  for (const echo of [false, true]) {
    const body = { echo, stop, logprobs: 0, max_tokens: 6 }
    const [{ text, logprobs }] = (await complete(body)).choices
    const { tokens, text_offset } = logprobs
    for (const [at, token] of tokens.entries()) {
      if (echo && at <= 1) continue // <s>, and the first word with a space that is not in the text
      expect([at, text.slice(text_offset[at], text_offset[at] + token.length)]).toEqual([at, token])
    }
    if (echo) expect([tokens[0], ...text_offset.slice(0, 3)]).toEqual(['<s>', 0, 0, 4])
  }
})

test('echo returns the prompt, with logprobs also its scores', async () => {
  const [choice] = (await complete({ echo: true, logprobs: 0, max_tokens: 2 })).choices
  expect(choice.text).toStartWith(`${prompt} little`)
  expect(choice.logprobs.token_logprobs[0]).toBeNull()
  const known = choice.logprobs.token_logprobs.slice(1)
  expect(known.every((value: number) => value <= 0 && value > -30)).toBe(true)
  expect(choice.logprobs.tokens).toHaveLength(9 + 2)
})

test('echo without new tokens only scores the prompt', async () => {
  const answer = await complete({ echo: true, logprobs: 1, max_tokens: 0 })
  expect(answer.choices[0].text).toBe(prompt)
  expect(answer.usage.completion_tokens).toBe(0)
})

test('a stream has the same content as the complete answer', async () => {
  const body = { prompt, echo: true, logprobs: 1, max_tokens: 6 }
  const whole = (await complete(body)).choices[0]
  const chunks = await collect(await askStream(engine, 'completions', body))
  const parts = chunks.flatMap((chunk) => chunk.choices)
  expect(parts.map((part) => part.text).join('')).toBe(whole.text)
  expect(parts.flatMap((part) => part.logprobs?.tokens ?? [])).toEqual(whole.logprobs.tokens)
  expect(parts.at(-1).finish_reason).toBe('length')
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 6 } })
})

test.each([
  [{ suffix: 'x' }, 'suffix'],
  [{ best_of: 3 }, 'best_of'],
  [{ prompt: [] }, 'prompt'],
  [{ prompt: { a: 1 } }, 'prompt'],
  [{ max_tokens: 0 }, 'max_tokens'],
])('%j is 400 and names %s', async (body, param) => {
  expect(await rejection(complete(body))).toMatchObject({ status: 400, param })
})
