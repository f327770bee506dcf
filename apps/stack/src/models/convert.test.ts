/** The converters against small models made here, read back with the engine's own GGUF reader. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readGgufFileInfo } from 'node-llama-cpp'
import { convertMiniLm } from './convert-minilm.ts'
import { convertStories } from './convert-stories.ts'
import { parseSafetensors } from './safetensors.ts'

const folder = mkdtempSync(join(tmpdir(), 'convert-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const encoder = new TextEncoder()

test('a llama2.c checkpoint becomes a llama GGUF with its tokenizer', async () => {
  const file = await readBack(convertStories(checkpoint()))
  expect(String(file.metadata.general.architecture)).toBe('llama')
  expect(file.metadata.tokenizer?.ggml.tokens.slice(258)).toEqual(['<0xFF>', '\u2581the'])
  expect(file.metadata.tokenizer?.ggml.token_type?.slice(0, 4)).toEqual([2, 3, 3, 6])
  const query = file.fullTensorInfo?.find((tensor) => tensor.name === 'blk.0.attn_q.weight')
  expect(query?.dimensions.map(Number)).toEqual([32, 32])
})

test('a checkpoint that ends early is refused', () => {
  expect(() => convertStories(checkpoint().subarray(0, 5000))).toThrow('ends early')
})

test('a BERT encoder becomes a bert GGUF whose pieces mark the start of words', async () => {
  const file = await readBack(convertMiniLm(bertWeights(), json(wordPieces), json(bertConfig)))
  expect(String(file.metadata.general.architecture)).toBe('bert')
  expect(file.metadata.tokenizer?.ggml.tokens).toEqual([
    '[PAD]',
    '[UNK]',
    '[CLS]',
    '[SEP]',
    '[MASK]',
    '\u2581walk',
    'ing',
  ])
  const embedding = file.fullTensorInfo?.find((tensor) => tensor.name === 'token_embd.weight')
  expect(embedding?.dimensions.map(Number)).toEqual([4, 7])
  expect(file.fullTensorInfo).toHaveLength(5 + 16)
})

test('weights without a tensor are refused by its name', () => {
  const config = json({ ...bertConfig, num_hidden_layers: 2 })
  expect(() => convertMiniLm(bertWeights(), json(wordPieces), config)).toThrow('encoder.layer.1')
})

test('a safetensors table that points outside the file is refused', () => {
  const table = { x: { dtype: 'F16', shape: [1], data_offsets: [0, 2] } }
  const file = safetensors(table, new Uint8Array(1))
  expect(() => parseSafetensors(file)).toThrow('outside the file')
})

async function readBack(parts: Uint8Array[]) {
  const path = join(folder, `${crypto.randomUUID()}.gguf`)
  writeFileSync(path, Buffer.concat(parts))
  return await readGgufFileInfo(path)
}

/** One layer, dimension 32, 260 tokens: unknown, two controls, 256 bytes and one word. */
function checkpoint(): Uint8Array {
  const header = Int32Array.of(32, 32, 1, 2, 2, 260, 8)
  const floats = 260 * 32 + 32 + 4 * 32 * 32 + 32 + 3 * 32 * 32 + 32 + 8 * 16
  const pieces: Uint8Array[] = [bytesOf(Int32Array.of(8))]
  for (let id = 0; id < 260; id++) {
    const piece = encoder.encode(id === 259 ? ' the' : 'x')
    pieces.push(bytesOf(Float32Array.of(-id)), bytesOf(Int32Array.of(piece.length)), piece)
  }
  return Buffer.concat([bytesOf(header), new Uint8Array(floats * 4), ...pieces])
}

const bertConfig = {
  hidden_size: 4,
  intermediate_size: 8,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 6,
  num_attention_heads: 2,
  num_hidden_layers: 1,
  type_vocab_size: 2,
}

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const wordPieces = {
  added_tokens: special.map((content, id) => ({ id, content, special: true })),
  model: {
    vocab: Object.fromEntries([...special, 'walk', '##ing'].map((piece, id) => [piece, id])),
  },
}

function bertWeights(): Uint8Array {
  const shapes: Record<string, number[]> = {
    'embeddings.word_embeddings.weight': [7, 4],
    'embeddings.position_embeddings.weight': [6, 4],
    'embeddings.token_type_embeddings.weight': [2, 4],
    'embeddings.LayerNorm.weight': [4],
    'embeddings.LayerNorm.bias': [4],
  }
  const square = ['attention.self.query', 'attention.self.key', 'attention.self.value']
  for (const name of [...square, 'attention.output.dense', 'intermediate.dense', 'output.dense']) {
    const rows = name === 'intermediate.dense' ? 8 : 4
    shapes[`encoder.layer.0.${name}.weight`] = [rows, name === 'output.dense' ? 8 : 4]
    shapes[`encoder.layer.0.${name}.bias`] = [rows]
  }
  for (const name of ['attention.output.LayerNorm', 'output.LayerNorm'])
    for (const kind of ['weight', 'bias']) shapes[`encoder.layer.0.${name}.${kind}`] = [4]
  let at = 0
  const table = Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const from = at
      at += shape.reduce((product, length) => product * length, 2)
      return [name, { dtype: 'F16', shape, data_offsets: [from, at] }]
    }),
  )
  return safetensors(table, new Uint8Array(at))
}

function safetensors(table: object, data: Uint8Array): Uint8Array {
  const header = json(table)
  return Buffer.concat([bytesOf(BigUint64Array.of(BigInt(header.length))), header, data])
}

const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value))
const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
