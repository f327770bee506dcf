/** The committed OpenAPI document is up to date, and real answers conform to it. */
import { describe, expect, test } from 'bun:test'
import { formatModel, formatModelList, routes } from '@privatemode/protocol/api'
import { ask } from '../../packages/inference/src/testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { openApiDocument } from './document.ts'
import type { Schema } from './schema.ts'
import { findViolations } from './violations.ts'

const document = openApiDocument()
const schemas = (document.components as { schemas: Record<string, Schema> }).schemas
const violations = (schema: Schema | undefined, value: unknown) =>
  findViolations(schemas, schema, value)

test('docs/openapi.json is up to date; `npm run docs` makes it', async () => {
  const committed = await Bun.file(new URL('../../docs/openapi.json', import.meta.url)).json()
  expect(committed).toEqual(JSON.parse(JSON.stringify(document)))
})

test('every route has an operation, and only legacy completions are deprecated', () => {
  const paths = document.paths as Record<string, Record<string, Schema>>
  for (const route of routes) {
    const operation = paths[route.path]?.[route.method.toLowerCase()]
    expect(operation?.operationId).toBe(route.endpoint)
    expect(operation?.deprecated ?? false).toBe(route.deprecated)
  }
})

test('every reference can be resolved', () => {
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)
  const components = document.components as Record<string, Record<string, unknown>>
  for (const [, kind = '', name = ''] of references) expect(components[kind]?.[name]).toBeDefined()
})

describe('answers conform to their schema', () => {
  const tool = { index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }
  const engine = () =>
    new ScriptedEngine({ deltas: [{ reasoning: 'r' }, { content: 'a' }, { tool_calls: [tool] }] })
  const chat = { model: chatModel.id, messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 }
  const text = { body: { choices: [{ text: 'a', finish_reason: 'stop' }], usage: {} } }
  const vector = { body: { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 1 } } }

  test.each([
    ['/v1/chat/completions', chat, 'ChatRequest', 'ChatCompletion', engine()],
    [
      '/v1/completions',
      { model: chatModel.id, prompt: 'a' },
      'CompletionRequest',
      'Completion',
      new ScriptedEngine(text),
    ],
    [
      '/v1/embeddings',
      { model: 'embed', input: 'a' },
      'EmbeddingsRequest',
      'Embeddings',
      new ScriptedEngine(vector),
    ],
    [
      '/v1/messages',
      { ...chat, thinking: { type: 'adaptive' } },
      'MessagesRequest',
      'Message',
      engine(),
    ],
    ['/v1/messages/count_tokens', chat, 'CountTokensRequest', 'TokenCount', engine()],
    [
      '/v1/responses',
      { model: chatModel.id, input: 'a' },
      'ResponsesRequest',
      'Response',
      engine(),
    ],
  ])('%s', async (path, body, request, response, engine) => {
    expect(violations(schemas[request], body)).toEqual([])
    const { json } = await ask(engine, path, body)
    expect(violations(schemas[response], json)).toEqual([])
  })

  test.each([
    ['/v1/chat/completions', 'ChatCompletionChunk'],
    ['/v1/messages', 'MessageEvent'],
    ['/v1/responses', 'ResponseEvent'],
  ])('the events of %s', async (path, event) => {
    const { events } = await ask(engine(), path, { ...chat, input: 'a', stream: true })
    for (const { data } of events)
      if (data !== '[DONE]') expect(violations(schemas[event], data)).toEqual([])
  })

  test('errors of both dialects, and models', async () => {
    const openAi = await ask(engine(), '/v1/chat/completions', {})
    expect(violations(schemas.OpenAiError, openAi.json)).toEqual([])
    const anthropic = await ask(engine(), '/v1/messages', {})
    expect(violations(schemas.AnthropicError, anthropic.json)).toEqual([])
    expect(violations(schemas.ModelList, formatModelList([formatModel(chatModel)]))).toEqual([])
  })

  test('the check itself detects violations', () => {
    expect(violations(schemas.TokenCount, { input_tokens: -1 })).toEqual(['.input_tokens: minimum'])
    expect(violations(schemas.TokenCount, {})).toEqual(['.input_tokens: missing'])
    expect(violations(schemas.MessageEvent, { type: 'x' })).toEqual(['.type: enum'])
  })
})
