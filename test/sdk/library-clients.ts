/** Libraries over the official dialects with `pm.fetch`: the Vercel AI SDK and LangChain. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { embedMany, generateText, streamText } from 'ai'
import { type Case, equal, expect } from './case.ts'
import { connect } from './suite.ts'

export const libraryClientCases: readonly Case[] = [
  {
    name: 'ai: generates, streams and embeds with the OpenAI-compatible provider',
    async run(config) {
      const pm = await connect(config)
      const { apiKey, model } = config
      const given = {
        name: 'privatemode',
        baseURL: pm.baseURL,
        apiKey,
        fetch: pm.fetch as typeof fetch,
      }
      const provider = createOpenAICompatible(given)
      const { text } = await generateText({ model: provider(model), prompt: 'hello' })
      equal(text, 'You said: hello')
      const { textStream } = streamText({ model: provider(model), prompt: '[[words 30]]' })
      let streamed = ''
      for await (const piece of textStream) streamed += piece
      equal(streamed.split(' ').length, 30)
      const embedding = provider.embeddingModel(model)
      const { embeddings } = await embedMany({ model: embedding, values: ['a', 'b'] })
      equal(embeddings.length, 2)
    },
  },
  {
    name: 'ai: generates and streams with the Anthropic provider',
    async run(config) {
      const pm = await connect(config)
      const { apiKey, model } = config
      const provider = createAnthropic({
        baseURL: pm.baseURL,
        apiKey,
        fetch: pm.fetch as typeof fetch,
      })
      const { text } = await generateText({ model: provider(model), prompt: 'hello' })
      equal(text, 'You said: hello')
      const { textStream } = streamText({ model: provider(model), prompt: '[[words 30]]' })
      let streamed = ''
      for await (const piece of textStream) streamed += piece
      equal(streamed.split(' ').length, 30)
    },
  },
  {
    name: 'langchain: invokes, streams and embeds',
    async run(config) {
      const pm = await connect(config)
      const { apiKey, model } = config
      const configuration = { baseURL: pm.baseURL, fetch: pm.fetch }
      const chat = new ChatOpenAI({ model, apiKey, configuration, maxRetries: 0 })
      equal((await chat.invoke('hello')).text, 'You said: hello')
      let streamed = ''
      for await (const piece of await chat.stream('[[words 30]]')) streamed += piece.text
      equal(streamed.split(' ').length, 30)
      const embeddings = new OpenAIEmbeddings({ model, apiKey, configuration, maxRetries: 0 })
      const vectors = await embeddings.embedDocuments(['a', 'b'])
      expect(vectors.length === 2 && vectors[0]?.length === 4, 'two vectors')
    },
  },
]
