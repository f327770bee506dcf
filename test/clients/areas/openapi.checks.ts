/** Every operation of the committed OpenAPI document, asked of the running stack: answers, events and errors. */
import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import type { Schema } from '../../../scripts/openapi/schema.ts'
import { findViolations, type Schemas } from '../../../scripts/openapi/violations.ts'
import { type ClientStack, chat, embedModel, message, model, throughBoth } from '../client-stack.ts'
import type { Asked } from '../entrance.ts'

type Content = Readonly<Record<string, { readonly schema: Schema }>>
type Operation = {
  readonly operationId: string
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Schemas }
}

const path = fileURLToPath(new URL('../../../docs/openapi.json', import.meta.url))
const document = (await Bun.file(path).json()) as Document
const { schemas } = document.components

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
const order = '[[reason]] [[tool look {"at":"sky"}]] hi'
/** A good request for each operation that takes one. */
const bodies: Readonly<Record<string, object>> = {
  chat: chat(order, { tools, logprobs: true }),
  completions: { model, prompt: 'hi' },
  embeddings: { model: embedModel, input: ['a', 'b'] },
  messages: message(order, {
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    thinking: { type: 'enabled', budget_tokens: 1024 },
  }),
  count_tokens: chat('hi'),
  responses: { model, input: 'hi' },
}

export function openApiChecks(place: ClientStack): void {
  const operations = Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route, method, operation })),
  )

  throughBoth('OpenAPI', place, (entrance) => {
    test.each(operations)(
      '$method $route is as documented',
      async ({ route, method, operation }) => {
        const { operationId, requestBody, responses } = operation
        const at = route.replace('{id}', model)
        const body = bodies[operationId]
        expect(body === undefined).toBe(requestBody === undefined)
        if (body === undefined) {
          const answer = await entrance.get(at)
          expect([method, answer.status]).toEqual(['get', 200])
          expectSchema(responses['200'], answer)
          return
        }
        const requestSchema = requestBody?.content['application/json']?.schema
        expect(findViolations(schemas, requestSchema, body)).toEqual([])
        expectSchema(responses['200'], await entrance.ask(at, body))
        expectSchema(responses.default, await entrance.ask(at, { model }))
        if (responses['200']?.content?.['text/event-stream'] === undefined) return
        const streamed = await entrance.ask(at, { ...body, stream: true })
        expect(streamed.events.length).toBeGreaterThan(1)
        expectSchema(responses['200'], streamed)
      },
    )

    test('errors of routes are as documented: unknown model, unknown path, malformed body', async () => {
      const { responses } = document.paths['/v1/models/{id}']!.get!
      expectSchema(responses.default, await entrance.get('/v1/models/none'))
      expectSchema(responses.default, await entrance.get('/v1/nowhere'))
      expectSchema(responses.default, await entrance.ask('/v1/embeddings', '{'))
    })
  })
}

function expectSchema(response: Operation['responses'][string] | undefined, answer: Asked): void {
  const [type = ''] = (answer.headers.get('content-type') ?? '').split(';')
  const schema = response?.content?.[type]?.schema
  for (const name of ['x-request-id', 'request-id']) expect(answer.headers.has(name)).toBe(true)
  if (response?.content === undefined) return
  const values = answer.events.map(({ data }) => data).filter((data) => data !== '[DONE]')
  for (const value of answer.json === undefined ? values : [answer.json]) {
    expect([value, findViolations(schemas, schema, value)]).toEqual([value, []])
  }
}
