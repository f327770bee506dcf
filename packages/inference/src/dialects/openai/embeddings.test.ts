/** Embeddings in both encodings. */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../engine.ts'
import { ask } from '../../testing/ask.ts'
import { ScriptedEngine } from '../../testing/scripted-engine.ts'

const path = '/v1/embeddings'
const vector = [0.25, -1, 3.0000001192092896]
const base64 = 'AACAPgAAgL8AAEBA' // little-endian float32 of 0.25, -1, 3
const engineWith = (...embeddings: unknown[]) =>
  new ScriptedEngine({
    body: {
      data: embeddings.map((embedding, index) => ({ index, embedding })),
      usage: { prompt_tokens: 5, total_tokens: 5 },
    },
  })
const embed = (fields: JsonObject, engine = engineWith([0.25, -1, 3])) =>
  ask(engine, path, { model: 'embed', input: 'a', ...fields })

describe('the answer', () => {
  test('check 71: it has every field of the interface, and both counts are the prompt', async () => {
    expect((await embed({})).json).toEqual({
      id: expect.stringMatching(/^embd-/),
      object: 'list',
      created: expect.any(Number),
      model: 'embed',
      data: [{ object: 'embedding', index: 0, embedding: [0.25, -1, 3] }],
      usage: { prompt_tokens: 5, total_tokens: 5 },
    })
  })

  test('check 68: base64 and floats encode the same vector, whichever the engine returns', async () => {
    for (const given of [[0.25, -1, 3], Float32Array.of(0.25, -1, 3), base64]) {
      const engine = () => {
        const engine = engineWith([])
        engine.call = async () => ({
          kind: 'complete',
          body: { data: [{ index: 0, embedding: given }], usage: { prompt_tokens: 5 } },
        })
        return engine
      }
      expect((await embed({ encoding_format: 'float' }, engine())).json.data[0].embedding).toEqual([
        0.25, -1, 3,
      ])
      expect((await embed({ encoding_format: 'base64' }, engine())).json.data[0].embedding).toBe(
        base64,
      )
    }
  })

  test('check 69: base64 is little-endian float32, 4 bytes per dimension', async () => {
    const { json } = await embed({ encoding_format: 'base64' }, engineWith(vector))
    const bytes = Uint8Array.fromBase64(json.data[0].embedding)
    expect(bytes).toHaveLength(12)
    expect(new DataView(bytes.buffer).getFloat32(8, true)).toBeCloseTo(3, 6)
  })

  test('check 69: vectors are in the order of the inputs, whatever the engine’s order', async () => {
    const body = {
      data: [
        { index: 1, embedding: [2] },
        { index: 0, embedding: [1] },
      ],
    }
    const { json } = await embed({ input: ['a', 'b'] }, new ScriptedEngine({ body }))
    expect(json.data.map((item: JsonObject) => [item.index, item.embedding])).toEqual([
      [0, [1]],
      [1, [2]],
    ])
  })

  test('a missing vector is an error, never an empty one', async () => {
    expect((await embed({ input: ['a', 'b'] })).status).toBe(500)
    expect((await embed({}, engineWith([]))).status).toBe(500)
  })
})

describe('fields', () => {
  test('check 70: dimensions that an engine does not support are 400', async () => {
    expect((await embed({ dimensions: 3 })).status).toBe(200)
    const { status, json } = await embed({ dimensions: 2 })
    expect([status, json.error.param]).toEqual([400, 'dimensions'])
    expect((await embed({ dimensions: 0 })).json.error.param).toBe('dimensions')
  })

  test('check 70: no input, empty input and more than 2048 inputs are 400', async () => {
    const many = new Array(2049).fill('a')
    for (const input of [undefined, [], '', [''], ['a', ''], many, 5, [{}]])
      expect((await embed({ input })).status).toBe(400)
  })

  test('another kind of numbers is 400: base64 would be read as what it is not', async () => {
    expect((await embed({ embed_dtype: 'float16' })).json.error.param).toBe('embed_dtype')
    expect((await embed({ endianness: 'big' })).json.error.param).toBe('endianness')
    expect((await embed({ embed_dtype: 'float32', endianness: 'little' })).status).toBe(200)
  })

  test('check 63: messages are refused, since their images would be fetched', async () => {
    const messages = [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://a/b.png' } }] },
    ]
    for (const fields of [{ messages }, { messages, input: undefined }, { input: messages }]) {
      const engine = engineWith([1])
      expect((await embed(fields, engine)).status).toBe(400)
      expect(engine.calls).toHaveLength(0)
    }
    expect((await embed({ messages: null })).status).toBe(200)
  })

  test('check 69: token ids are accepted', async () => {
    expect((await embed({ input: [1, 2, 3] })).json.data).toHaveLength(1)
    expect((await embed({ input: [[1], [2]] }, engineWith([1], [2]))).json.data).toHaveLength(2)
  })

  test('another encoding is 400 and is named', async () => {
    expect((await embed({ encoding_format: 'hex' })).json.error.param).toBe('encoding_format')
  })
})
