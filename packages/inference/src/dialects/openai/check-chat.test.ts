/** Every field of a chat request is checked, and errors name the refused field. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'hi' }]
const chat = { model: chatModel.id, messages }
const tool = (name: string) => ({ type: 'function', function: { name, parameters: {} } })
const hello = () => new ScriptedEngine({ deltas: [{ content: 'Hello' }] })
const bodySeen = async (fields: JsonObject, engine = hello()) => {
  const { status, json } = await ask(engine, path, { ...chat, ...fields })
  expect([status, json.error]).toEqual([200, undefined])
  return engine.calls[0]!.body
}
const refusedParam = async (fields: JsonObject) => {
  const { status, json } = await ask(hello(), path, { ...chat, ...fields })
  expect(status).toBe(400)
  return json.error.param
}

describe('fields', () => {
  test('check 39: both names of the token limit reach the engine', async () => {
    expect(await bodySeen({ max_tokens: 7 })).toMatchObject({ max_completion_tokens: 7 })
    expect(await bodySeen({ max_completion_tokens: 8 })).toMatchObject({ max_tokens: 8 })
    expect(await bodySeen({ max_tokens: 7, max_completion_tokens: 8 })).toMatchObject({
      max_tokens: 8,
    })
  })

  test('check 42: all roles are accepted, and a developer is a system message', async () => {
    const seen = await bodySeen({
      messages: [
        { role: 'system', content: 'a' },
        { role: 'developer', content: 'b' },
        { role: 'user', content: 'c' },
        { role: 'assistant', content: 'd' },
        { role: 'tool', tool_call_id: 'x', content: 'e' },
      ],
    })
    const roles = (seen.messages as JsonObject[]).map((message) => message.role)
    expect(roles).toEqual(['system', 'system', 'user', 'assistant', 'tool'])
    expect(await refusedParam({ messages: [{ role: 'robot', content: 'a' }] })).toBe(
      'messages.0.role',
    )
  })

  test('check 43: content may be text or parts, and null or empty with tool calls', async () => {
    const calls = [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }]
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'x', content: [{ type: 'text', text: 'r' }] },
      { role: 'assistant', content: '', tool_calls: calls },
      { role: 'assistant', tool_calls: calls },
    ]
    const seen = (await bodySeen({ messages })).messages as JsonObject[]
    expect(seen.map((message) => message.content)).toEqual([
      [{ type: 'text', text: 'a' }],
      null,
      [{ type: 'text', text: 'r' }],
      '',
      null,
    ])
    expect(await refusedParam({ messages: [{ role: 'user', content: null }] })).toBe(
      'messages.0.content',
    )
  })

  test('check 47: tool_choice is checked against the tools', async () => {
    for (const choice of ['none', 'auto', 'required'])
      expect(await bodySeen({ tools: [tool('f')], tool_choice: choice })).toMatchObject({
        tool_choice: choice,
      })
    const named = (name: string) => ({ type: 'function', function: { name } })
    expect(await bodySeen({ tools: [tool('f')], tool_choice: named('f') })).toBeDefined()
    expect(await refusedParam({ tools: [tool('f')], tool_choice: named('g') })).toBe(
      'tool_choice.function.name',
    )
    expect(await refusedParam({ tool_choice: 'required' })).toBe('tools')
    expect(await bodySeen({ tools: [], tool_choice: 'auto' })).not.toHaveProperty('tools')
  })

  test('check 49: an unknown response format is 400 with its param', async () => {
    expect(await refusedParam({ response_format: { type: 'xml' } })).toBe('response_format.type')
    expect(await refusedParam({ response_format: { type: 'json_schema' } })).toBe(
      'response_format.json_schema',
    )
    const json_schema = { name: 'a', schema: { type: 'object' }, strict: true }
    const response_format = { type: 'json_schema', json_schema }
    expect(await bodySeen({ response_format })).toMatchObject({ response_format })
  })

  test.each([
    ['temperature', 2.1],
    ['temperature', -0.1],
    ['temperature', 'hot'],
    ['top_p', 0],
    ['top_p', 1.1],
    ['frequency_penalty', -2.1],
    ['presence_penalty', 2.1],
    ['max_tokens', 0],
    ['max_completion_tokens', 1.5],
    ['n', 0],
    ['n', 129],
    ['seed', 1.5],
    ['seed', 1e19],
    ['stop', ['a', 'b', 'c', 'd', 'e']],
    ['stop', ''],
    ['stop', 'a'.repeat(1025)],
    ['stop_token_ids', Array(101).fill(5)],
    ['stop_token_ids', [-1]],
    ['allowed_token_ids', Array(1025).fill(5)],
    ['allowed_token_ids', 'all'],
    ['bad_words', Array(129).fill('a')],
    ['bad_words', ['a'.repeat(1025)]],
    ['top_logprobs', 21],
    ['logprobs', 1],
    ['stream_options', { include_usage: true }],
    ['modalities', ['audio']],
    ['functions', []],
    ['prompt_logprobs', 21],
  ])('check 57: %s of %j is 400 and names the param', async (param, value) => {
    expect(await refusedParam({ [param]: value })).toBe(param)
  })

  test('the longest lists of stops, token ids and words reach the engine', async () => {
    const most = {
      stop: ['a'.repeat(1024)],
      stop_token_ids: Array(100).fill(5),
      allowed_token_ids: Array(1024).fill(5),
      bad_words: Array(128).fill('a'.repeat(1024)),
    }
    expect(await bodySeen(most)).toMatchObject(most)
  })

  test('check 55: top_logprobs without logprobs is 400', async () => {
    expect(await refusedParam({ top_logprobs: 5 })).toBe('top_logprobs')
    expect(await bodySeen({ logprobs: true, top_logprobs: 20 })).toMatchObject({ top_logprobs: 20 })
  })

  test('check 56: a bias outside its range, or for an invalid token id, is 400', async () => {
    expect(await refusedParam({ logit_bias: { 5: 101 } })).toBe('logit_bias.5')
    expect(await refusedParam({ logit_bias: { a: 1 } })).toBe('logit_bias')
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 1]))
    expect(await refusedParam({ logit_bias: many(1025) })).toBe('logit_bias')
    expect(await bodySeen({ logit_bias: many(1024) })).toMatchObject({ logit_bias: many(1024) })
    expect(await bodySeen({ logit_bias: { 5: -100 } })).toMatchObject({ logit_bias: { 5: -100 } })
  })

  test('check 61: prompt_logprobs pass through, and are 400 in a stream', async () => {
    const body = { choices: [], prompt_logprobs: [null, { 5: { logprob: -1 } }] }
    const engine = new ScriptedEngine({ body })
    const { json } = await ask(engine, path, { ...chat, prompt_logprobs: 1 })
    expect(json.prompt_logprobs).toEqual(body.prompt_logprobs)
    expect(await refusedParam({ prompt_logprobs: 1, stream: true })).toBe('prompt_logprobs')
  })

  test('null in an optional field means that it is absent', async () => {
    const fields = { temperature: null, stop: null, tools: null, response_format: null, seed: null }
    const seen = await bodySeen(fields)
    for (const name of Object.keys(fields)) expect(seen).not.toHaveProperty(name)
  })
})
