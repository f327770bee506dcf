/** Chat on a real model: the answer reflects what the caller requested. */
import { afterAll, describe, expect, test } from 'bun:test'
import { leastMs } from '../../../../../test/least-ms.ts'
import { rejection } from '../../../../../test/rejection.ts'
import {
  type Answer,
  ask,
  askStream,
  collect,
  storyEngine,
} from '../../../../../test/story-model.ts'
import type { EngineUsage } from '../../engine.ts'

const engine = await storyEngine()
afterAll(() => engine.close())

const messages = [{ role: 'user', content: 'Tell me a story about a little cat.' }]
const chat = (body: object = {}) => ask(engine, 'chat', { messages, max_tokens: 12, ...body })

describe('a chat answer', () => {
  test('has the shape of OpenAI with exact usage', async () => {
    const answer = await chat()
    expect(answer).toMatchObject({ object: 'chat.completion', model: 'stories' })
    expect(answer.choices).toHaveLength(1)
    const [choice] = answer.choices
    expect(choice.message).toMatchObject({ role: 'assistant', refusal: null })
    expect(choice).toMatchObject({ index: 0, logprobs: null, finish_reason: 'length' })
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage
    expect(completion_tokens).toBe(12)
    expect(total_tokens).toBe(prompt_tokens + 12)
  })

  test('costs as many prompt tokens as countTokens returns', async () => {
    const tools = [{ type: 'function', function: { name: 'f', description: 'does it' } }]
    for (const body of [{ messages }, { messages, tools }]) {
      const counted = await engine.countTokens({ model: 'stories', ...body })
      expect((await chat(body)).usage.prompt_tokens).toBe(counted)
    }
  })

  test('is reproducible with temperature 0, even if the second run is cached', async () => {
    const cache_salt = 's'.repeat(32)
    const [first, second] = [await chat({ cache_salt }), await chat({ cache_salt })]
    expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(10)
    expect(second.choices[0].message.content).toBe(first.choices[0].message.content)
  })

  test('is the same with the same seed and differs with other seeds', async () => {
    const told = async (seed: number) =>
      (await chat({ temperature: 1, seed, max_tokens: 24 })).choices[0].message.content
    const [one, again, other] = [await told(1), await told(1), await told(2)]
    expect(again).toBe(one)
    expect(other).not.toBe(one)
  })

  test('has n choices with their own text', async () => {
    const { choices, usage } = await chat({ n: 3, temperature: 1.2, seed: 5 })
    expect(choices.map((choice: Answer) => choice.index)).toEqual([0, 1, 2])
    expect(new Set(choices.map((choice: Answer) => choice.message.content)).size).toBe(3)
    expect(usage.completion_tokens).toBe(36)
    expect(usage.prompt_tokens).toBe((await chat()).usage.prompt_tokens)
  })

  test('with more choices than the cap is 400', async () => {
    expect(await rejection(chat({ n: 9 }))).toMatchObject({ status: 400, param: 'n' })
  })

  test('ends before a stop string and names it', async () => {
    const whole = (await chat({ max_tokens: 30 })).choices[0].message.content
    const stop = whole.slice(10, 14)
    const [choice] = (await chat({ max_tokens: 30, stop: ['never', stop] })).choices
    expect(choice.message.content).toBe(whole.slice(0, whole.indexOf(stop)))
    expect(choice).toMatchObject({ finish_reason: 'stop', stop_reason: stop })
  })

  test('never exceeds the context, whatever max_tokens says', async () => {
    const answer = await chat({ max_tokens: 32_000, ignore_eos: true })
    expect(answer.usage.total_tokens).toBe(256)
    expect(answer.choices[0].finish_reason).toBe('length')
  })

  test('to a prompt that exceeds the context is 400 and states the limit', async () => {
    const long = [{ role: 'user', content: 'word '.repeat(400) }]
    expect(await rejection(chat({ messages: long }))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringContaining('maximum context length is 256 tokens'),
      promptTokens: await engine.countTokens({ model: 'stories', messages: long }),
    })
  })

  test('to megabytes of text is 400 before all of it is tokenized', async () => {
    const huge = [{ role: 'user', content: 'word and '.repeat(500_000) }]
    const readMs = await leastMs(3000, async () => {
      expect(await rejection(chat({ messages: huge }))).toMatchObject({
        code: 'context_length_exceeded',
      })
      const tokens = await engine.countTokens({ model: 'stories', messages: huge })
      expect(tokens).toBeGreaterThan(900_000)
    })
    expect(readMs).toBeLessThan(3000)
  })

  const mebi = 1 << 20
  const said = (content: string) => ({ messages: [{ role: 'user', content }] })
  const called = (args: string) => {
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }]
    return { messages: [...messages, { role: 'assistant', tool_calls }] }
  }
  test.each<[string, () => object]>([
    ['spaces, of which a token has many', () => said(' '.repeat(20 * mebi))],
    ['words behind such spaces', () => said(' '.repeat(20_000) + 'word and '.repeat(2 * mebi))],
    ['names of control tokens', () => said('</s>'.repeat(5 * mebi))],
    ['messages', () => ({ messages: Array.from({ length: mebi }, () => messages[0]) })],
    ['arguments nested without end', () => called('['.repeat(5 * mebi))],
  ])('to millions of %s is 400 while others wait for less than a second', async (_, make) => {
    const body = make()
    const refusedMs = await leastMs(1000, async () => {
      const error = await rejection(chat(body))
      expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded' })
    })
    expect(refusedMs).toBeLessThan(1000)
  })

  test('to arguments nested deeply enough to end a native parser is right', async () => {
    const { choices } = await chat(called('['.repeat(60) + ']'.repeat(60)))
    expect(choices).toHaveLength(1)
    const tooDeep = await rejection(chat(called('['.repeat(50_000) + ']'.repeat(50_000))))
    expect(tooDeep).toMatchObject({ status: 400 })
  })

  test('reports the likeliest tokens with their bytes', async () => {
    const [choice] = (await chat({ logprobs: true, top_logprobs: 3 })).choices
    expect(choice.logprobs.content).toHaveLength(12)
    const text = choice.logprobs.content.map((one: Answer) => one.token).join('')
    expect(text).toBe(choice.message.content)
    for (const one of choice.logprobs.content) {
      expect(one.top_logprobs).toHaveLength(3)
      expect(one.logprob).toBeCloseTo(one.top_logprobs[0].logprob, 5) // greedy takes the first
      expect(one.bytes).toEqual([...new TextEncoder().encode(one.token)])
      const mass = one.top_logprobs.reduce((sum: number, t: Answer) => sum + Math.exp(t.logprob), 0)
      expect(mass).toBeLessThanOrEqual(1.0001)
    }
  })

  test('reports how likely the prompt itself is', async () => {
    const answer = await chat({ prompt_logprobs: 1 })
    expect(answer.prompt_logprobs).toHaveLength(answer.usage.prompt_tokens)
    expect(answer.prompt_logprobs[0]).toBeNull()
    expect(answer.usage.prompt_tokens_details.cached_tokens).toBe(0)
  })

  test('never has a token that logit_bias forbids', async () => {
    const tokenOf = async (bias: object) => {
      const [choice] = (await chat({ max_tokens: 1, logit_bias: bias })).choices
      return choice.message.content
    }
    const [first] = (await chat({ max_tokens: 1, prompt_logprobs: 0 })).choices
    const banned = Object.fromEntries(Array.from({ length: 31_000 }, (_, id) => [id, -100]))
    expect(await tokenOf(banned)).not.toBe(first.message.content)
    expect(await rejection(tokenOf({ 32000: 1 }))).toMatchObject({
      status: 400,
      param: 'logit_bias',
    })
    expect(await rejection(tokenOf({ 5: 101 }))).toMatchObject({ status: 400, param: 'logit_bias' })
  })

  test('repeats itself less under a penalty', async () => {
    const words = async (body: object) => {
      const said = (await chat({ max_tokens: 60, ...body })).choices[0].message.content
      return new Set(said.split(/\W+/)).size / said.split(/\W+/).length
    }
    expect(await words({ frequency_penalty: 2 })).toBeGreaterThan(await words({}))
    expect(await words({ repetition_penalty: 1.8 })).toBeGreaterThan(await words({}))
  })

  test.each([
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, 'messages[0].content[0]'],
    [{ temperature: 3 }, 'temperature'],
    [{ seed: 'x' }, 'seed'],
    [{ stop: Array(65).fill('a') }, 'stop'],
    [{ top_logprobs: 21, logprobs: true }, 'top_logprobs'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ response_format: { type: 'xml' } }, 'response_format.type'],
  ])('to %j is 400 and names %s', async (body, param) => {
    expect(await rejection(chat(body))).toMatchObject({ status: 400, param })
  })

  test('to a stop string over 1,024 characters is 400', async () => {
    const error = await rejection(chat({ stop: 'x'.repeat(1025) }))
    expect(error).toMatchObject({ status: 400, param: 'stop' })
  })

  test('of an unknown model is 404, of a model that cannot chat 400', async () => {
    expect(await rejection(chat({ model: 'x' }))).toMatchObject({ code: 'model_not_found' })
    expect(await rejection(ask(engine, 'embeddings', { input: 'x' }))).toMatchObject({
      status: 400,
    })
  })
})

describe('a chat stream', () => {
  test('has the same content as the complete answer', async () => {
    const whole = await chat({ n: 2, logprobs: true, temperature: 1, seed: 3 })
    const body = { messages, max_tokens: 12, n: 2, logprobs: true, temperature: 1, seed: 3 }
    const chunks = await collect(await askStream(engine, 'chat', body))
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
    for (const index of [0, 1]) {
      const own = chunks.flatMap((chunk) => chunk.choices).filter((one) => one.index === index)
      expect(own[0].delta).toEqual({ role: 'assistant', content: '' })
      expect(own.map((one) => one.delta.content ?? '').join('')).toBe(
        whole.choices[index].message.content,
      )
      expect(own.map((one) => one.finish_reason).filter(Boolean)).toEqual(['length'])
      expect(own.flatMap((one) => one.logprobs?.content ?? [])).toHaveLength(12)
    }
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 24 } })
  })

  test('never emits half a character', async () => {
    const schema = { enum: ['\u{1F408} caf\u00E9 \u4F60'] }
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    const body = { messages, max_tokens: 40, response_format }
    const chunks = await collect(await askStream(engine, 'chat', body))
    const deltas = chunks.flatMap((chunk) => chunk.choices).map((one) => one.delta.content ?? '')
    expect(JSON.parse(deltas.join(''))).toBe(schema.enum[0])
    for (const delta of deltas) expect(delta).not.toContain('\uFFFD')
    expect(chunks.at(-1).usage.completion_tokens).toBeGreaterThan(12) // each part is a token
  })

  test('stops when its reader leaves, and its usage stays exact', async () => {
    let told: EngineUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
    const options = {
      onUsage: (usage: EngineUsage) => {
        told = usage
      },
    }
    const body = { messages, max_tokens: 200, ignore_eos: true }
    let seen = 0
    for await (const chunk of await askStream(engine, 'chat', body, options)) {
      if (chunk.choices[0]?.delta.content) seen++
      if (seen === 5) break
    }
    await chat({ max_tokens: 1 })
    expect(told.completionTokens).toBeGreaterThanOrEqual(5)
    expect(told.completionTokens).toBeLessThan(20)
    expect(told.promptTokens).toBeGreaterThan(5)
  })
})
