/** Checks 64 to 71 and 89: legacy completions, embeddings and responses. */
import { expect, test } from 'bun:test'
import { type ClientStack, embedModel, model, throughBoth } from '../client-stack.ts'

const completions = '/v1/completions'
const embeddings = '/v1/embeddings'

export function otherEndpointChecks(place: ClientStack): void {
  throughBoth('completions', place, (entrance) => {
    const ask = (prompt: unknown, fields: object = {}) =>
      entrance.ask(completions, { model, prompt, ...fields })

    test('check 64: text, texts, token ids and lists of those are accepted', async () => {
      for (const prompt of ['one', ['one', 'two'], [1, 2, 3], [[1, 2], [3]]]) {
        const { status, json, headers } = await ask(prompt)
        expect([prompt, status]).toEqual([prompt, 200])
        expect(json).toMatchObject({
          id: expect.stringMatching(/^cmpl-/),
          object: 'text_completion',
          model,
        })
        expect(headers.get('deprecation')).toMatch(/^@\d+$/)
        expect(headers.get('link')).toContain('rel="successor-version"')
      }
      for (const prompt of ['', [], [''], [[]], 7, undefined]) {
        expect([prompt, (await ask(prompt)).status]).toEqual([prompt, 400])
      }
    })

    test('check 65: max_tokens is 16 by default', async () => {
      const { json } = await ask('[[words 50]]')
      expect(json.usage.completion_tokens).toBe(16)
      expect(json.choices[0]).toMatchObject({ index: 0, finish_reason: 'length', logprobs: null })
    })

    test('check 66: suffix and best_of work or are 400, never ignored', async () => {
      const suffix = await ask('a', { suffix: 'b' })
      expect([suffix.status, suffix.json.error.param]).toEqual([400, 'suffix'])
      const best = await ask('a', { best_of: 3 })
      expect([best.status, best.json.error.param]).toEqual([400, 'best_of'])
    })

    test('check 67: stream chunks have the documented format, end and usage rule', async () => {
      const { events, text } = await ask('one', { stream: true })
      expect(events.at(-1)?.data).toBe('[DONE]')
      expect(text).not.toContain('"usage"')
      const chunks = events.slice(0, -1).map(({ data }) => data)
      for (const chunk of chunks) expect(chunk.object).toBe('text_completion')
      expect(chunks.map(({ choices }) => choices[0].text).join('')).toBe('You said: one')
      const options = { stream: true, stream_options: { include_usage: true } }
      const counted = await ask('one', options)
      expect(counted.events.at(-2)?.data).toMatchObject({
        choices: [],
        usage: { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
      })
    })
  })

  throughBoth('embeddings', place, (entrance) => {
    const ask = (input: unknown, fields: object = {}) =>
      entrance.ask(embeddings, { model: embedModel, input, ...fields })

    test("check 68: the official client's base64 call gives the same vector as floats", async () => {
      const client = entrance.openai()
      const call = { model: embedModel, input: 'the sea' }
      const plain = await client.embeddings.create(call)
      const floats = await client.embeddings.create({ ...call, encoding_format: 'float' })
      const [one, other] = [plain.data[0]!.embedding, floats.data[0]!.embedding]
      expect(one).toHaveLength(4)
      for (const [i, value] of one.entries()) expect(value).toBeCloseTo(other[i]!, 6)
    })

    test('check 69: base64 is little-endian float32; inputs keep their order and index', async () => {
      const inputs = ['one', 'two', 'three']
      const { json } = await ask(inputs)
      expect(json.data.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2])
      const coded = await ask(inputs, { encoding_format: 'base64' })
      for (const [i, { embedding }] of json.data.entries()) {
        const bytes = Buffer.from(coded.json.data[i].embedding, 'base64')
        expect(bytes.length).toBe(4 * embedding.length)
        for (const [j, value] of embedding.entries()) {
          expect(bytes.readFloatLE(4 * j)).toBeCloseTo(value, 6)
        }
      }
      const ids = await ask([1, 2, 3])
      expect(ids.json.data).toHaveLength(1)
      expect((await ask([[1], [2]])).json.data).toHaveLength(2)
    })

    test('check 70: dimensions are respected or 400; empty and too many inputs are 400', async () => {
      expect((await ask('x', { dimensions: 4 })).status).toBe(200)
      const other = await ask('x', { dimensions: 3 })
      expect([other.status, other.json.error.param]).toEqual([400, 'dimensions'])
      for (const input of ['', [], [''], Array(2049).fill('x')]) {
        expect((await ask(input)).status).toBe(400)
      }
      expect((await ask('x', { encoding_format: 'hex' })).json.error.param).toBe('encoding_format')
    })

    test('check 71: both counts are the prompt and nothing is completed', async () => {
      const { json } = await ask(['a', 'b'])
      expect(json).toMatchObject({ object: 'list', model: embedModel, id: expect.any(String) })
      expect(json.usage).toEqual({ prompt_tokens: 2, total_tokens: 2 })
    })
  })

  throughBoth('responses', place, (entrance) => {
    test('check 89: responses answer, whole and streamed, with a tool', async () => {
      const client = entrance.openai()
      const whole = await client.responses.create({ model, input: 'hello' })
      expect([whole.status, whole.output_text]).toEqual(['completed', 'You said: hello'])
      const parameters = { type: 'object', properties: { at: { type: 'string' } } }
      const tools = [{ type: 'function' as const, name: 'look', parameters, strict: false }]
      const input = '[[tool look {"at":"sky"}]]'
      const stream = client.responses.stream({ model, input, tools })
      const { output } = await stream.finalResponse()
      expect(output[0]).toMatchObject({ type: 'function_call', name: 'look' })
      const refused = await entrance.ask('/v1/responses', { model })
      expect(refused.status).toBe(400)
      expect(refused.json.error.type).toBe('invalid_request_error')
    })
  })
}
