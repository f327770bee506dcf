/** The official clients of both dialects with `pm.fetch`; these run in browsers too. */
import Anthropic from '@anthropic-ai/sdk'
import { PrivatemodeAnthropic } from '@privatemode/sdk/anthropic'
import { PrivatemodeOpenAI } from '@privatemode/sdk/openai'
import { acceptSoftware } from '@privatemode/sdk/software'
import OpenAI from 'openai'
import { type Case, equal, expect, fails } from './case.ts'
import { ask, connect } from './suite.ts'

const shared = { dangerouslyAllowBrowser: true, maxRetries: 0 }

export const officialClientCases: readonly Case[] = [
  {
    name: 'openai: chats, streams, embeds, lists models, and reads errors',
    async run(config) {
      const pm = await connect(config)
      const { apiKey, model } = config
      const client = new OpenAI({ baseURL: pm.baseURL, apiKey, fetch: pm.fetch, ...shared })
      const whole = await client.chat.completions.create({ model, messages: ask('hello') })
      equal(whole.choices[0]?.message.content, 'You said: hello')
      const stream = await client.chat.completions.create({
        model,
        messages: ask('[[words 30]]'),
        stream: true,
        stream_options: { include_usage: true },
      })
      let text = ''
      let tokens = 0
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        tokens = chunk.usage?.completion_tokens ?? tokens
      }
      equal(text.split(' ').length, 30)
      expect(tokens > 0, 'the usage came with the stream')
      const vectors = await client.embeddings.create({ model, input: ['a', 'b'] })
      equal(vectors.data[0]?.embedding.length, 4)
      equal((await client.models.list()).data[0]?.id, model)
      equal((await client.models.retrieve(model)).id, model)
      const failure = await fails(() =>
        client.chat.completions.create({ model: 'nope', messages: ask('a') }),
      )
      expect(failure instanceof OpenAI.NotFoundError, 'the client knows the error')
    },
  },
  {
    name: 'openai: calls a tool, and an abort stops the stream',
    async run(config) {
      const pm = await connect(config)
      const { apiKey, model } = config
      const client = new OpenAI({ baseURL: pm.baseURL, apiKey, fetch: pm.fetch, ...shared })
      const parameters = { type: 'object', properties: { city: { type: 'string' } } }
      const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }]
      const messages = ask('[[tool weather {"city":"Bonn"}]]')
      const called = await client.chat.completions.create({ model, messages, tools })
      const [call] = called.choices[0]?.message.tool_calls ?? []
      equal(call?.type === 'function' ? call.function.arguments : '', '{"city":"Bonn"}')
      const slow = { model, messages: ask('[[pace 50]] [[words 400]]'), stream: true as const }
      const stream = await client.chat.completions.create(slow)
      for await (const _ of stream) stream.controller.abort()
    },
  },
  {
    name: 'anthropic: messages, streams, tools, token counts, and errors',
    async run(config) {
      const pm = await connect(config)
      const { apiKey, model } = config
      const client = new Anthropic({ baseURL: pm.baseURL, apiKey, fetch: pm.fetch, ...shared })
      const request = { model, max_tokens: 100, messages: ask('hello') }
      const whole = await client.messages.create(request)
      const [block] = whole.content
      equal(block?.type === 'text' ? block.text : '', 'You said: hello')
      const final = await client.messages.stream(request).finalMessage()
      equal(final.stop_reason, 'end_turn')
      const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
      const messages = ask('[[tool weather {"city":"Bonn"}]]')
      const called = await client.messages.create({ ...request, messages, tools })
      expect(
        called.content.some(({ type }) => type === 'tool_use'),
        'the tool is called',
      )
      const counted = await client.messages.countTokens({ model, messages: ask('a b c') })
      expect(counted.input_tokens > 0, 'tokens are counted')
      const failure = await fails(() => client.messages.create({ ...request, model: 'nope' }))
      expect(failure instanceof Anthropic.NotFoundError, 'the client knows the error')
    },
  },
  {
    name: 'PrivatemodeOpenAI and PrivatemodeAnthropic verify at the first call, and give receipts',
    async run(config) {
      const { apiKey, model, endpoint, logKey, softwareRoot } = config
      const events: string[] = []
      const settings = {
        ...{ apiKey, endpoint, manifest: { logKey }, ...shared },
        software: acceptSoftware(softwareRoot),
        onEvent: ({ kind }: { kind: string }) => void events.push(kind),
      }
      const openai = new PrivatemodeOpenAI(settings)
      equal(events.length, 0)
      const { data, response } = await openai.chat.completions
        .create({ model, messages: ask('hello') })
        .withResponse()
      equal(data.choices[0]?.message.content, 'You said: hello')
      equal(events.join(), 'manifest-changed,verified')
      const verified = await openai.verified()
      equal((await verified.receiptOf(response)).outcome, 'complete')
      const anthropic = new PrivatemodeAnthropic(settings)
      const final = await anthropic.messages
        .stream({ model, max_tokens: 100, messages: ask('hello') })
        .finalMessage()
      equal(final.stop_reason, 'end_turn')
      const strict = new PrivatemodeOpenAI({
        ...settings,
        software: acceptSoftware('ab'.repeat(32)),
      })
      const refused = await fails(() =>
        strict.chat.completions.create({ model, messages: ask('secret') }),
      )
      equal((refused as { code?: string }).code, 'attestation_refused')
    },
  },
]
