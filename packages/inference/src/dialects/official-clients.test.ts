/** The official clients can read what the API core writes, without a server between them. */
import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import OpenAI from 'openai'
import { EngineError } from '../engine.ts'
import { fetchOf } from '../testing/answer-fetch.ts'
import { closeAfterEach } from '../testing/connected-engine.ts'
import { connect } from '../testing/native-dialects.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const model = chatModel.id
const messages = [{ role: 'user' as const, content: 'hi' }]
const toolDelta = {
  tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a":1}' } }],
}
const everything = () =>
  new ScriptedEngine({
    deltas: [{ reasoning: 'hm' }, { content: 'Hel' }, { content: 'lo' }, toolDelta],
    finishReason: 'tool_calls',
  })

const openAi = (engine: ScriptedEngine, maxRetries = 0) =>
  new OpenAI({ apiKey: 'k', baseURL: 'http://test/v1', fetch: fetchOf(engine), maxRetries })

describe('openai', () => {
  test('chat, streamed or not, with a tool call and usage', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }]
    const whole = await openAi(everything()).chat.completions.create({ model, messages, tools })
    expect(whole.choices[0]?.message.content).toBe('Hello')
    const stream = openAi(everything()).chat.completions.stream({
      model,
      messages,
      tools,
      stream_options: { include_usage: true },
    })
    const final = await stream.finalChatCompletion()
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      id: 'c1',
      function: { name: 'f', arguments: '{"a":1}' },
    })
    expect(final.usage?.total_tokens).toBe(13)
  })

  test('check 68: the default embeddings call, which requests base64, returns the vector', async () => {
    const body = { data: [{ index: 0, embedding: [0.1, -0.5, 2] }], usage: { prompt_tokens: 2 } }
    const client = openAi(new ScriptedEngine({ body }))
    const plain = await client.embeddings.create({ model: 'embed', input: 'a' })
    const floats = await client.embeddings.create({
      model: 'embed',
      input: 'a',
      encoding_format: 'float',
    })
    expect(plain.data[0]?.embedding).toHaveLength(3)
    plain.data[0]?.embedding.forEach((value, i) => {
      expect(value).toBeCloseTo(floats.data[0]?.embedding[i] ?? Number.NaN, 6)
    })
  })

  test('legacy completions and responses are read', async () => {
    const body = { choices: [{ text: 'b', finish_reason: 'stop' }], usage: {} }
    const completion = await openAi(new ScriptedEngine({ body })).completions.create({
      model,
      prompt: 'a',
    })
    expect(completion.choices[0]?.text).toBe('b')
    const response = await openAi(everything()).responses.create({ model, input: 'hi' })
    expect(response.output_text).toBe('Hello')
    const stream = openAi(everything()).responses.stream({ model, input: 'hi' })
    expect((await stream.finalResponse()).output.map((item) => item.type)).toEqual([
      'reasoning',
      'message',
      'function_call',
    ])
  })

  test('errors have their class, code and param, and a failed stream throws', async () => {
    const bad = openAi(everything()).chat.completions.create({ model, messages, n: 500 })
    expect(await failureOf(bad)).toMatchObject({ status: 400, code: 'invalid_value', param: 'n' })
    const dying = new ScriptedEngine({
      deltas: [{ content: 'a' }, { content: 'b' }],
      beforeChunk: (index) => {
        if (index === 1) throw new EngineError('engine_failed', 'died')
      },
    })
    const stream = await openAi(dying).chat.completions.create({ model, messages, stream: true })
    const reading = (async () => {
      for await (const _ of stream);
    })()
    expect(await failureOf(reading)).toMatchObject({ message: expect.stringContaining('died') })
  })
})

describe.each([
  ['1.x', Anthropic],
  ['0.x', Anthropic0 as unknown as typeof Anthropic],
])('@anthropic-ai/sdk %s', (_, Client) => {
  const client = (engine: ScriptedEngine) =>
    new Client({ apiKey: 'k', baseURL: 'http://test', fetch: fetchOf(engine), maxRetries: 0 })
  const asked = {
    model,
    max_tokens: 2000,
    messages,
    thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    tools: [{ name: 'f', input_schema: { type: 'object' as const } }],
  }
  const types = ['thinking', 'text', 'tool_use']

  test('check 72: messages are read, streamed or not', async () => {
    const whole = await client(everything()).messages.create(asked)
    expect(whole.content.map((block) => block.type)).toEqual(types as never)
    const final = await client(everything()).messages.stream(asked).finalMessage()
    expect(final.content).toMatchObject([
      { thinking: 'hm', signature: expect.stringMatching(/.+/) },
      { text: 'Hello' },
      { input: { a: 1 } },
    ])
    expect(final).toMatchObject({ stop_reason: 'tool_use', usage: { output_tokens: 3 } })
  })

  test('check 82: tokens are counted', async () => {
    const engine = new ScriptedEngine({ tokens: 7 })
    expect(await client(engine).messages.countTokens({ model, messages })).toEqual({
      input_tokens: 7,
    })
  })

  test('errors have their class', async () => {
    const bad = client(everything()).messages.create({ ...asked, model: 'none' })
    expect(await failureOf(bad)).toBeInstanceOf(Client.NotFoundError)
  })
})

describe('a server with native dialects', () => {
  closeAfterEach()

  test('check 72: the official clients read what is passed on', async () => {
    const { server, engine } = await connect()
    const options = { apiKey: 'k', fetch: fetchOf(engine), maxRetries: 0 }
    const anthropic = new Anthropic({ ...options, baseURL: 'http://test' })
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
    const tools = [{ name: 'f', input_schema: { type: 'object' as const } }]
    const content = '[[reason]] [[tool f {"a":1}]]'
    const asked = {
      model: 'scripted',
      max_tokens: 50,
      messages: [{ role: 'user' as const, content }],
    }
    const final = await anthropic.messages.stream({ ...asked, thinking, tools }).finalMessage()
    expect(final.content).toMatchObject([{ type: 'thinking' }, { input: { a: 1 } }])
    const openai = new OpenAI({ ...options, baseURL: 'http://test/v1' })
    const input = { model: 'scripted', input: 'hi' }
    expect((await openai.responses.create(input)).output_text).toBe('You said: hi')
    const response = await openai.responses.stream(input).finalResponse()
    expect(response.output_text).toBe('You said: hi')
    const paths = server.requests.map(({ path }) => path)
    expect(paths).toEqual(['/v1/messages', '/v1/responses', '/v1/responses'])
  })
})

async function failureOf(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
