/** Forms of an answer stay small enough for the server that prepares them for everyone. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { chain, costlyForms, items } from '../testing/costly-forms.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const messages = [{ role: 'user', content: 'hi' }]
const bodies = {
  '/v1/chat/completions': { messages },
  '/v1/completions': { prompt: 'a' },
  '/v1/messages': { messages, max_tokens: 5 },
  '/v1/responses': { input: 'a' },
} as const
type Path = keyof typeof bodies
const paths = Object.keys(bodies) as Path[]

const answered = async (path: Path, fields: JsonObject) => {
  const engine = new ScriptedEngine({ deltas: [{ content: 'Hello' }] })
  const answer = await ask(engine, path, { model: chatModel.id, ...bodies[path], ...fields })
  expect(engine.calls).toHaveLength(answer.status === 200 ? 1 : 0)
  return answer
}
const statusOf = async (path: Path, fields: JsonObject) => (await answered(path, fields)).status

/** As each dialect spells it. */
const withSchema = (path: Path, schema: JsonObject): JsonObject => {
  if (path === '/v1/messages') return { output_config: { format: { type: 'json_schema', schema } } }
  if (path === '/v1/responses')
    return { text: { format: { type: 'json_schema', name: 'x', schema } } }
  return { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }
}
const withTool = (path: Path, schema: JsonObject): JsonObject => {
  if (path === '/v1/messages') return { tools: [{ name: 'f', input_schema: schema }] }
  const tool = { name: 'f', parameters: schema }
  if (path === '/v1/responses') return { tools: [{ type: 'function', ...tool }] }
  return { tools: [{ type: 'function', function: tool }] }
}

describe.each(paths)('on %s', (path) => {
  test('a schema has at most 256 KiB', async () => {
    const long = (length: number) => ({ type: 'string', const: 'a'.repeat(length) })
    expect(await statusOf(path, withSchema(path, long(262_000)))).toBe(200)
    expect(await statusOf(path, withSchema(path, long(262_144)))).toBe(400)
  })

  test('so have forms under the names of model servers', async () => {
    const choice = (length: number) => ({ structured_outputs: { choice: ['a'.repeat(length)] } })
    expect(await statusOf(path, choice(262_000))).toBe(200)
    expect(await statusOf(path, choice(262_144))).toBe(400)
    for (const name of ['guided_json', 'guided_regex', 'guided_choice', 'json_schema', 'regex']) {
      const { status, text } = await answered(path, { [name]: ['a'.repeat(262_144)] })
      expect(status).toBe(400)
      expect(text).toContain(`'${name}' is larger than 256 KiB`)
    }
  })

  test.each(costlyForms)('too much of $name is refused', async ({ most, more, refusal }) => {
    for (const make of [withSchema, withTool]) {
      if (make === withTool && path === '/v1/completions') continue
      expect(await statusOf(path, make(path, most))).toBe(200)
      const { status, text } = await answered(path, make(path, more))
      expect([status, text]).toEqual([400, expect.stringContaining(refusal)])
    }
  })

  test('so is one under the names of model servers, as JSON or as text', async () => {
    for (const form of [(schema: JsonObject) => schema, JSON.stringify])
      for (const fields of [
        (schema: JsonObject) => ({ structured_outputs: { json: form(schema) } }),
        (schema: JsonObject) => ({ guided_json: form(schema) }),
        (schema: JsonObject) => ({ json_schema: form(schema) }),
      ])
        for (const { most, more } of costlyForms) {
          expect(await statusOf(path, fields(most))).toBe(200)
          expect(await statusOf(path, fields(more))).toBe(400)
        }
    const escaped = JSON.stringify(chain(1000)).replaceAll('$ref', '\\u0024ref')
    expect(await statusOf(path, { guided_json: escaped })).toBe(400)
    expect(await statusOf(path, { guided_json: '{"multipleOf":1e999}' })).toBe(400)
  })

  test('a pattern alone has at most 8,192 characters', async () => {
    for (const fields of [
      (regex: string) => ({ structured_outputs: { regex } }),
      (regex: string) => ({ guided_regex: regex }),
      (regex: string) => ({ regex }),
    ]) {
      expect(await statusOf(path, fields('a'.repeat(8192)))).toBe(200)
      expect(await statusOf(path, fields('a'.repeat(8193)))).toBe(400)
    }
  })

  test('a schema given as text is valid JSON of limited depth', async () => {
    const nested = (depth: number) => `${'{"items":'.repeat(depth)}{}${'}'.repeat(depth)}`
    expect(await statusOf(path, { guided_json: nested(100) })).toBe(200)
    expect(await statusOf(path, { guided_json: nested(200) })).toBe(400)
    const { status, text } = await answered(path, { guided_json: '{"secret' })
    expect([status, text]).toEqual([400, expect.not.stringContaining('secret')])
  })
})

test('the schemas of tools are limited one by one, unless one refers to another', async () => {
  const tools = (schemas: readonly JsonObject[]) => ({
    tools: schemas.map((parameters, i) => ({
      type: 'function',
      function: { name: `f${i}`, parameters },
    })),
  })
  const path = '/v1/chat/completions'
  const names = ['a', 'b', 'c', 'd']
  expect(await statusOf(path, tools(names.map((name) => chain(290, { name }))))).toBe(200)
  const linked = names.map((name, i) =>
    chain(290, { name, end: { $ref: `#/$defs/${names[i + 1] ?? 'x'}0` } }),
  )
  expect(await statusOf(path, tools(linked.slice(0, 1)))).toBe(200)
  expect(await statusOf(path, tools(linked))).toBe(400)
})

test('the items of all tools count together', async () => {
  const tools = [items({ minItems: 500_000 }), items({ minItems: 500_001 })].map(
    (parameters, i) => ({
      type: 'function',
      function: { name: `f${i}`, parameters },
    }),
  )
  expect(await statusOf('/v1/chat/completions', { tools: tools.slice(1) })).toBe(200)
  expect(await statusOf('/v1/chat/completions', { tools })).toBe(400)
})

test.each(['/v1/chat/completions', '/v1/completions'] as const)(
  'on %s, a response format is text, JSON or a schema, not tags with grammars',
  async (path) => {
    expect(await statusOf(path, { response_format: { type: 'json_object' } })).toBe(200)
    const tags = { type: 'structural_tag', structures: [], triggers: [] }
    expect(await statusOf(path, { response_format: tags })).toBe(400)
  },
)
