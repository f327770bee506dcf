/** Chat completions that are not streamed: fields in, fields out. */
import { describe, expect, test } from 'bun:test'
import { EngineError, type JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'hi' }]
const chat = { model: chatModel.id, messages }
const tool = (name: string) => ({ type: 'function', function: { name, parameters: {} } })
const call = (name: string, id: string) => ({ id, function: { name, arguments: '{}' } })
const hello = () => new ScriptedEngine({ deltas: [{ content: 'Hello' }] })
const bodySeen = async (fields: JsonObject, engine = hello()) => {
  const { status, json } = await ask(engine, path, { ...chat, ...fields })
  expect([status, json.error]).toEqual([200, undefined])
  return engine.calls[0]!.body
}
describe('answers', () => {
  test('check 34: the body has every field of the interface, null if empty', async () => {
    const { json } = await ask(hello(), path, chat)
    expect(json).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: chatModel.id,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello',
            refusal: null,
            reasoning: null,
            tool_calls: [],
          },
          logprobs: null,
          finish_reason: 'stop',
          stop_reason: null,
        },
      ],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 3,
        total_tokens: 13,
        prompt_tokens_details: { cached_tokens: 4 },
      },
      prompt_logprobs: null,
    })
  })

  test('check 44: a tool call has an id and a type, and ends with tool_calls even if a server says stop', async () => {
    const body = {
      choices: [{ message: { tool_calls: [call('f', '')] }, finish_reason: 'stop' }],
      usage: {},
    }
    const { json } = await ask(new ScriptedEngine({ body }), path, { ...chat, tools: [tool('f')] })
    expect(json.choices[0].finish_reason).toBe('tool_calls')
    expect(json.choices[0].message.tool_calls[0]).toMatchObject({
      id: expect.stringMatching(/^call_/),
      type: 'function',
    })
  })

  test('check 46: parallel_tool_calls false yields at most one', async () => {
    const body = { choices: [{ message: { tool_calls: [call('f', 'a'), call('f', 'b')] } }] }
    const asked = { ...chat, tools: [tool('f')], parallel_tool_calls: false }
    const { json } = await ask(new ScriptedEngine({ body }), path, asked)
    expect(json.choices[0].message.tool_calls).toHaveLength(1)
  })

  test('check 50: reasoning is sent under both names and accepted under both', async () => {
    for (const name of ['reasoning', 'reasoning_content']) {
      const body = { choices: [{ message: { content: 'a', [name]: 'because' } }] }
      const { json } = await ask(new ScriptedEngine({ body }), path, chat)
      expect(json.choices[0].message).toMatchObject({
        content: 'a',
        reasoning: 'because',
        reasoning_content: 'because',
      })
      const history = { role: 'assistant', content: 'a', [name]: 'because' }
      const seen = await bodySeen({ messages: [...messages, history, ...messages] })
      expect((seen.messages as JsonObject[])[1]).toMatchObject({
        reasoning: 'because',
        reasoning_content: 'because',
      })
    }
  })

  test('check 51: reasoning effort is accepted and reasoning tokens are shown', async () => {
    for (const effort of ['none', 'low', 'high'])
      expect(await bodySeen({ reasoning_effort: effort })).toMatchObject({
        reasoning_effort: effort,
      })
    const usage = { prompt_tokens: 1, completion_tokens_details: { reasoning_tokens: 5 } }
    const { json } = await ask(
      new ScriptedEngine({ deltas: [{ content: 'a' }], usage }),
      path,
      chat,
    )
    expect(json.usage.completion_tokens_details).toEqual({ reasoning_tokens: 5 })
  })

  test('a finish reason outside the interface is mapped into it', async () => {
    for (const [given, shown] of [
      ['abort', 'length'],
      ['repetition', 'length'],
      ['eos', 'stop'],
    ]) {
      const engine = new ScriptedEngine({ deltas: [{ content: 'a' }], finishReason: String(given) })
      expect((await ask(engine, path, chat)).json.choices[0].finish_reason).toBe(shown)
    }
  })

  test('check 53: the stop string that was met is reported', async () => {
    const engine = new ScriptedEngine({ deltas: [{ content: 'a' }], stopReason: 'END' })
    const { json } = await ask(engine, path, { ...chat, stop: ['END'] })
    expect(json.choices[0].stop_reason).toBe('END')
  })
})

describe('context', () => {
  const overflow = (promptTokens: number | undefined, limit: number) =>
    new ScriptedEngine({
      deltas: [{ content: 'ok' }],
      tokens: 1200,
      before: (call) => {
        const wanted = Number(call.body.max_tokens ?? 0)
        if ((promptTokens ?? 1200) + wanted > limit)
          throw new EngineError('context_length_exceeded', 'too long', { promptTokens })
      },
    })

  test('check 40: a token limit beyond the context is reduced if the prompt fits', async () => {
    for (const stream of [false, true]) {
      const engine = overflow(900, 1000)
      expect((await ask(engine, path, { ...chat, stream, max_tokens: 32_000 })).status).toBe(200)
      expect(engine.calls.map((call) => call.body.max_tokens)).toEqual([32_000, 100])
    }
  })

  test('check 41: a prompt that is too long is 400 with a message that agents recognise', async () => {
    for (const promptTokens of [1200, undefined]) {
      const { status, json } = await ask(overflow(promptTokens, 1000), path, {
        ...chat,
        max_tokens: 5,
      })
      expect([status, json.error.code]).toEqual([400, 'context_length_exceeded'])
      expect(json.error.message).toContain('maximum context length is 1000 tokens')
      expect(json.error.message).toContain('1205 tokens (1200 in the messages')
    }
  })
})
