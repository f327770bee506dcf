/** A field that nobody has judged is found wherever a server's description has it. */
import { afterAll, expect, test } from 'bun:test'
import { readRequestFields } from './request-fields.ts'

const requestOf = (schema: unknown) => ({
  post: { requestBody: { content: { 'application/json': { schema } } } },
})
const description = {
  paths: {
    '/v1/chat/completions': requestOf({ $ref: '#/components/schemas/Chat' }),
    '/v1/embeddings': requestOf({ anyOf: [{ $ref: '#/components/schemas/Embedding' }] }),
    '/other': requestOf({ properties: { elsewhere: {} } }),
  },
  components: {
    schemas: {
      Chat: {
        allOf: [{ $ref: '#/components/schemas/Chat' }],
        properties: { model: {}, new_a: {} },
      },
      Embedding: { properties: { input: {}, priority: {}, new_b: {} } },
    },
  },
}
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: ({ url }) =>
    url.endsWith('/known/openapi.json')
      ? Response.json(description)
      : new Response(null, { status: 404 }),
})
afterAll(() => server.stop())

test('fields are found by reference, in alternatives, and only on our paths', async () => {
  const fields = await readRequestFields(`${server.url}known`)
  expect(fields).toEqual({ known: 5, unread: ['new_a', 'new_b'] })
})

test('a server need not describe its requests', async () => {
  expect(await readRequestFields(`${server.url}unknown`)).toBeUndefined()
})
