/** Popular frameworks can read what the API core writes. */
import { describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { embedMany, generateText, jsonSchema, streamText, type ToolSet } from 'ai'
import { fetchOf } from '../testing/answer-fetch.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const model = chatModel.id
const call = {
  tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a":1}' } }],
}
const calling = () =>
  new ScriptedEngine({ deltas: [{ reasoning: 'hm' }, call], finishReason: 'tool_calls' })
const talking = () => new ScriptedEngine({ deltas: [{ content: 'Hel' }, { content: 'lo' }] })
const vectors = () =>
  new ScriptedEngine({
    body: {
      data: [0, 1].map((index) => ({ index, embedding: [index, 0.5] })),
      usage: { prompt_tokens: 2 },
    },
  })

const providers = {
  'openai-compatible': (engine: ScriptedEngine) =>
    createOpenAICompatible({
      name: 'test',
      baseURL: 'http://test/v1',
      apiKey: 'k',
      includeUsage: true,
      fetch: fetchOf(engine),
    }).chatModel(model),
  anthropic: (engine: ScriptedEngine) =>
    createAnthropic({ baseURL: 'http://test/v1', apiKey: 'k', fetch: fetchOf(engine) })(model),
}

describe.each(Object.entries(providers))('ai with the %s provider', (_, provider) => {
  const inputSchema = jsonSchema({ type: 'object', properties: { a: { type: 'number' } } })
  // The ToolSet type does not work under exactOptionalPropertyTypes.
  const tools = { f: { inputSchema } } as unknown as ToolSet

  test('text is generated and streamed, with usage', async () => {
    const whole = await generateText({
      model: provider(talking()),
      prompt: 'hi',
      maxOutputTokens: 50,
    })
    expect([whole.text, whole.usage.outputTokens]).toEqual(['Hello', 3])
    const stream = streamText({ model: provider(talking()), prompt: 'hi', maxOutputTokens: 50 })
    expect([await stream.text, await stream.finishReason]).toEqual(['Hello', 'stop'])
    expect((await stream.usage).inputTokens).toBe(10)
  })

  test('a tool is called, whole and streamed', async () => {
    const whole = await generateText({
      model: provider(calling()),
      prompt: 'hi',
      tools,
      maxOutputTokens: 50,
    })
    expect(whole.toolCalls[0]).toMatchObject({ toolName: 'f', input: { a: 1 } })
    const stream = streamText({
      model: provider(calling()),
      prompt: 'hi',
      tools,
      maxOutputTokens: 50,
    })
    expect((await stream.toolCalls)[0]).toMatchObject({ toolName: 'f', input: { a: 1 } })
    expect(await stream.finishReason).toBe('tool-calls')
  })
})

test('ai embeds many', async () => {
  const provider = createOpenAICompatible({
    name: 'test',
    baseURL: 'http://test/v1',
    fetch: fetchOf(vectors()),
  })
  const { embeddings } = await embedMany({
    model: provider.embeddingModel('embed'),
    values: ['a', 'b'],
  })
  expect(embeddings).toEqual([
    [0, 0.5],
    [1, 0.5],
  ])
})

describe('@langchain/openai', () => {
  const chatOf = (engine: ScriptedEngine) =>
    new ChatOpenAI({
      model,
      apiKey: 'k',
      configuration: { baseURL: 'http://test/v1', fetch: fetchOf(engine) },
    })

  test('chat is invoked and streamed', async () => {
    expect((await chatOf(talking()).invoke('hi')).content).toBe('Hello')
    let text = ''
    for await (const chunk of await chatOf(talking()).stream('hi')) text += chunk.content
    expect(text).toBe('Hello')
  })

  test('a tool is called', async () => {
    const f = { type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }
    const answer = await chatOf(calling()).bindTools([f]).invoke('hi')
    expect(answer.tool_calls?.[0]).toMatchObject({ name: 'f', args: { a: 1 } })
  })

  test('documents are embedded', async () => {
    const embeddings = new OpenAIEmbeddings({
      model: 'embed',
      apiKey: 'k',
      configuration: { baseURL: 'http://test/v1', fetch: fetchOf(vectors()) },
    })
    expect(await embeddings.embedDocuments(['a', 'b'])).toEqual([
      [0, 0.5],
      [1, 0.5],
    ])
  })
})
