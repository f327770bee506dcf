/** The official clients of both dialects and the frameworks over them, unchanged, through the running stack. */
import { describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { embedMany, generateText, jsonSchema, stepCountIs, streamText, type ToolSet } from 'ai'
import Anthropic0 from 'anthropic-sdk-0'
import { serverSalt } from '../../../packages/inference/src/servers/server-salt.ts'
import {
  type ClientStack,
  chat,
  embedModel,
  freshWords,
  message,
  model,
  saltOf,
  throughBoth,
} from '../client-stack.ts'
import type { Entrance } from '../entrance.ts'

const order = '[[tool look {"at":"sky"}]]'
const schema = { type: 'object' as const, properties: { at: { type: 'string' as const } } }

export function officialClientChecks(place: ClientStack): void {
  throughBoth('official clients', place, (entrance) => {
    test('openai: chat, stream, tools, completions, embeddings, models, cache_salt', async () => {
      const client = entrance.openai()
      const words = freshWords(3)
      // A field beyond the client's types is what its extra body is.
      const whole = await client.chat.completions.create(chat(words, { cache_salt: saltOf('n') }))
      expect(whole.choices[0]?.message.content).toBe(`You said: ${words}`)
      expect(place.seen(words)?.body.cache_salt).toBe(serverSalt(saltOf('n')))
      const tools = [{ type: 'function' as const, function: { name: 'look', parameters: schema } }]
      const stream = client.chat.completions.stream({ ...chat(order), tools })
      const [call] = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls ?? []
      expect(call).toMatchObject({ function: { name: 'look', arguments: '{"at":"sky"}' } })
      const completion = await client.completions.create({ model, prompt: 'hi' })
      expect(completion.choices[0]?.text).toBe('You said: hi')
      const vectors = await client.embeddings.create({ model: embedModel, input: ['a', 'b'] })
      expect(vectors.data.map(({ embedding }) => embedding.length)).toEqual([4, 4])
      const listed = await client.models.list()
      expect(listed.data.map(({ id }) => id)).toContain(model)
    })

    describe.each([
      ['1.x', Anthropic],
      ['0.x', Anthropic0 as unknown as typeof Anthropic],
    ])('@anthropic-ai/sdk %s', (_, Client) => {
      test('messages, streams, tools, counting, cache_salt', async () => {
        const client = entrance.anthropic(Client)
        const words = freshWords(3)
        const whole = await client.messages.create(message(words, { cache_salt: saltOf('k') }))
        expect(whole.content).toMatchObject([{ type: 'text', text: `You said: ${words}` }])
        expect(place.seen(words)?.body.cache_salt).toBe(serverSalt(saltOf('k')))
        const tools = [{ name: 'look', input_schema: schema }]
        const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
        const asked = { ...message(`[[reason]] ${order}`), max_tokens: 2000, tools, thinking }
        const final = await client.messages.stream(asked).finalMessage()
        expect(final.content).toMatchObject([
          { type: 'thinking', thinking: 'I think about it.' },
          { type: 'tool_use', name: 'look', input: { at: 'sky' } },
        ])
        const { max_tokens: _limit, ...counted } = message('how many')
        const { input_tokens } = await client.messages.countTokens(counted)
        expect(input_tokens).toBe(
          (await client.messages.create(message('how many'))).usage.input_tokens,
        )
        const failure = await client.messages
          .create({ ...message('x'), model: 'none' })
          .catch((e) => e)
        expect(failure).toBeInstanceOf(Client.NotFoundError)
      })
    })

    describe.each(Object.entries(aiProviders))('ai, %s provider', (name, provider) => {
      test('text, streams and a loop with an executed tool', async () => {
        const words = freshWords(3)
        const providerOptions = { privatemode: { cache_salt: saltOf('v') } }
        const asked = { model: provider(entrance), maxOutputTokens: 200 }
        const whole = await generateText({ ...asked, prompt: words, providerOptions })
        expect(whole.text).toBe(`You said: ${words}`)
        if (name === 'openai-compatible') {
          expect(place.seen(words)?.body.cache_salt).toBe(serverSalt(saltOf('v')))
        }
        const stream = streamText({ ...asked, prompt: 'one two' })
        expect(await stream.text).toBe('You said: one two')
        expect((await stream.usage).outputTokens).toBe(4)
        const seen: unknown[] = []
        const look = {
          inputSchema: jsonSchema(schema),
          execute: async (input: unknown) => {
            seen.push(input)
            return 'blue'
          },
        }
        // The type of a set of tools does not hold under exactOptionalPropertyTypes.
        const tools = { look } as unknown as ToolSet
        const looped = await generateText({
          ...asked,
          prompt: order,
          tools,
          stopWhen: stepCountIs(3),
        })
        expect(seen).toEqual([{ at: 'sky' }])
        expect(looped.text).toContain('blue')
      })
    })

    test('ai embeds many', async () => {
      const { baseURL, apiKey, fetch } = settingsOf(entrance)
      const provider = createOpenAICompatible({ name: 'privatemode', baseURL, apiKey, fetch })
      const { embeddings } = await embedMany({
        model: provider.embeddingModel(embedModel),
        values: ['a', 'b'],
      })
      expect(embeddings.map((vector) => vector.length)).toEqual([4, 4])
    })

    test('@langchain/openai: invoke, stream, tools, embeddings, cache_salt', async () => {
      const { baseURL, apiKey, fetch } = settingsOf(entrance)
      const configuration = { baseURL, fetch }
      const modelKwargs = { cache_salt: saltOf('l') }
      const client = new ChatOpenAI({ model, apiKey, configuration, modelKwargs })
      const words = freshWords(3)
      expect((await client.invoke(words)).content).toBe(`You said: ${words}`)
      expect(place.seen(words)?.body.cache_salt).toBe(serverSalt(saltOf('l')))
      let text = ''
      for await (const chunk of await client.stream('one two')) text += chunk.content
      expect(text).toBe('You said: one two')
      const look = { type: 'function' as const, function: { name: 'look', parameters: schema } }
      const called = await client.bindTools([look]).invoke(order)
      expect(called.tool_calls?.[0]).toMatchObject({ name: 'look', args: { at: 'sky' } })
      const embeddings = new OpenAIEmbeddings({ model: embedModel, apiKey, configuration })
      expect((await embeddings.embedDocuments(['a', 'b'])).map((one) => one.length)).toEqual([4, 4])
    })
  })
}

const settingsOf = (entrance: Entrance) => ({
  baseURL: `${entrance.url}/v1`,
  apiKey: entrance.target.apiKey ?? 'unused',
  fetch: entrance.clientFetch(),
})

const aiProviders = {
  'openai-compatible': (entrance: Entrance) =>
    createOpenAICompatible({
      name: 'privatemode',
      includeUsage: true,
      ...settingsOf(entrance),
    }).chatModel(model),
  anthropic: (entrance: Entrance) => createAnthropic(settingsOf(entrance))(model),
}
