/** The committed OpenAPI document is the generated one, and real answers keep to it. */
import { describe, expect, test } from 'bun:test'
import { formatModel, formatModelList, routes } from '@privatemode/protocol/api'
import { ask } from '../../apps/worker/src/testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../apps/worker/src/testing/scripted-engine.ts'
import { openApiDocument } from './document.ts'
import type { Schema } from './schema.ts'

const document = openApiDocument()
const schemas = (document.components as { schemas: Record<string, Schema> }).schemas

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

test('every reference leads somewhere', () => {
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)
  const components = document.components as Record<string, Record<string, unknown>>
  for (const [, kind = '', name = ''] of references) expect(components[kind]?.[name]).toBeDefined()
})

describe('answers keep to their schema', () => {
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

  test('the check itself sees what is wrong', () => {
    expect(violations(schemas.TokenCount, { input_tokens: -1 })).toEqual(['.input_tokens: minimum'])
    expect(violations(schemas.TokenCount, {})).toEqual(['.input_tokens: missing'])
    expect(violations(schemas.MessageEvent, { type: 'x' })).toEqual(['.type: enum'])
  })
})

/** As much of JSON Schema as the document uses. */
function violations(given: Schema | undefined, value: unknown, at = ''): string[] {
  const name = typeof given?.$ref === 'string' ? given.$ref.split('/').at(-1) : undefined
  const schema = name === undefined ? given : schemas[name]
  if (schema === undefined) return [`${at}: no schema`]
  const found: string[] = []
  const type = typeof schema.type === 'string' ? schema.type : undefined
  if (type !== undefined && !hasType(type, value)) return [`${at}: ${type}`]
  if ('const' in schema && schema.const !== value) found.push(`${at}: const`)
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) found.push(`${at}: enum`)
  if (Array.isArray(schema.anyOf) && schema.anyOf.every((one) => violations(one, value).length > 0))
    found.push(`${at}: anyOf`)
  if (typeof schema.minimum === 'number' && Number(value) < schema.minimum)
    found.push(`${at}: minimum`)
  if (type === 'array' && schema.items !== undefined)
    (value as unknown[]).forEach((item, i) => {
      found.push(...violations(schema.items as Schema, item, `${at}.${i}`))
    })
  if (type === 'object') found.push(...objectViolations(schema, value as Schema, at))
  return found
}

function objectViolations(schema: Schema, value: Schema, at: string): string[] {
  const required = (schema.required as string[] | undefined) ?? []
  const properties = (schema.properties as Record<string, Schema> | undefined) ?? {}
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${at}.${name}: missing`),
    ...Object.entries(properties)
      .filter(([name]) => name in value)
      .flatMap(([name, one]) => violations(one, value[name], `${at}.${name}`)),
  ]
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
  }
  return typeof value === type
}
