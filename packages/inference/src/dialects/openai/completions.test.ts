/** Legacy completions. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/completions'
const completion = { model: chatModel.id, prompt: 'once' }
const whole = () =>
  new ScriptedEngine({
    body: {
      choices: [{ index: 0, text: ' upon', finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 16 },
    },
  })

describe('the answer', () => {
  test('it has every field of the interface and marks the endpoint as deprecated', async () => {
    const { json, headers } = await ask(whole(), path, completion)
    expect(json).toEqual({
      id: expect.stringMatching(/^cmpl-/),
      object: 'text_completion',
      created: expect.any(Number),
      model: chatModel.id,
      choices: [
        { index: 0, text: ' upon', logprobs: null, finish_reason: 'length', stop_reason: null },
      ],
      usage: {
        prompt_tokens: 1,
        completion_tokens: 16,
        total_tokens: 17,
      },
    })
    expect(headers).toMatchObject({
      deprecation: expect.stringMatching(/^@\d+$/),
      link: '</v1/chat/completions>; rel="successor-version"',
    })
  })

  test('a refusal marks the endpoint as deprecated too', async () => {
    const refused: [number, JsonObject][] = [
      [404, { ...completion, model: 'none' }],
      [400, { ...completion, suffix: 'x' }],
    ]
    for (const [status, body] of refused) {
      const got = await ask(new ScriptedEngine(), path, body)
      expect([got.status, got.headers.deprecation]).toEqual([
        status,
        expect.stringMatching(/^@\d+$/),
      ])
    }
  })

  test('check 67: a stream has text_completion chunks, the usage chunk if requested, and an end', async () => {
    const chunks: JsonObject[] = [
      { choices: [{ index: 0, text: 'a' }], usage: { prompt_tokens: 1, completion_tokens: 1 } },
      { choices: [{ index: 0, text: 'b', finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    ]
    const plain = await ask(new ScriptedEngine({ chunks }), path, { ...completion, stream: true })
    expect(plain.text).not.toContain('usage')
    const parsed = plain.events.slice(0, -1).map((event) => event.data)
    expect(parsed.map((chunk) => chunk.object)).toEqual(['text_completion', 'text_completion'])
    expect(new Set(parsed.map((chunk) => chunk.id)).size).toBe(1)
    expect(plain.events.at(-1)?.data).toBe('[DONE]')
    const asked = { ...completion, stream: true, stream_options: { include_usage: true } }
    const counted = await ask(new ScriptedEngine({ chunks }), path, asked)
    expect(counted.events.at(-2)?.data).toMatchObject({
      choices: [],
      usage: { completion_tokens: 2, total_tokens: 3 },
    })
  })

  test('a stream that ends without a finish reason is an error', async () => {
    const chunks = [{ choices: [{ index: 0, text: 'a' }] }]
    const { text } = await ask(new ScriptedEngine({ chunks }), path, {
      ...completion,
      stream: true,
    })
    expect(text).toContain('"error"')
    expect(text).not.toContain('[DONE]')
  })
})

describe('fields', () => {
  test('check 64: text, texts, token ids and lists of those are accepted', async () => {
    for (const prompt of ['a', ['a', 'b'], [1, 2], [[1], [2, 3]]]) {
      const engine = whole()
      expect((await ask(engine, path, { ...completion, prompt })).status).toBe(200)
      expect(engine.calls[0]?.body.prompt).toEqual(prompt)
    }
    for (const prompt of ['', [], [''], ['a', 1], [[]], [1.5], [-1], {}, undefined])
      expect((await ask(whole(), path, { ...completion, prompt })).status).toBe(400)
  })

  test('check 65: max_tokens defaults to 16', async () => {
    const engine = whole()
    await ask(engine, path, completion)
    await ask(engine, path, { ...completion, max_tokens: 5, logprobs: 3 })
    expect(engine.calls.map((call) => call.body.max_tokens)).toEqual([16, 5])
    expect(engine.calls[1]?.body.logprobs).toBe(3)
  })

  test('max_tokens of 0 is accepted with echo, and only then', async () => {
    const engine = whole()
    const echoed = await ask(engine, path, { ...completion, max_tokens: 0, echo: true })
    expect([echoed.status, engine.calls[0]?.body.max_tokens]).toEqual([200, 0])
    const { status, json } = await ask(engine, path, { ...completion, max_tokens: 0 })
    expect([status, json.error.param]).toEqual([400, 'max_tokens'])
  })

  test('all prompts together have at most 2,048 choices', async () => {
    const prompt = Array(32).fill('a')
    expect((await ask(whole(), path, { ...completion, prompt, n: 64 })).status).toBe(200)
    const engine = whole()
    const { status, json } = await ask(engine, path, { ...completion, prompt, n: 65 })
    expect([status, json.error.param, engine.calls.length]).toEqual([400, 'n', 0])
  })

  test('check 66: suffix and best_of are refused, never ignored', async () => {
    for (const [param, value] of [
      ['suffix', 'x'],
      ['best_of', 3],
    ]) {
      const { status, json } = await ask(whole(), path, { ...completion, [String(param)]: value })
      expect([status, json.error.param]).toEqual([400, param])
    }
    expect((await ask(whole(), path, { ...completion, suffix: null, best_of: 1 })).status).toBe(200)
  })
})
