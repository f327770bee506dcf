/** Converts a llama2.c checkpoint with its tokenizer into a GGUF file of the llama architecture. */
import { formatGguf, type GgufTensor, type GgufValue } from './gguf-file.ts'
import { ModelError } from './model-error.ts'
import { quantiseQ8 } from './number-formats.ts'

const headerFields = 7
const byteTokensFrom = 3

/** The data file holds the checkpoint, immediately followed by the tokenizer. */
export function convertStories(data: Uint8Array): Uint8Array[] {
  const reader = new FloatReader(data)
  const [dim, hidden, layers, heads, kvHeads, vocabulary, context] = reader.header()
  const headSize = dim / heads
  const kvDim = headSize * kvHeads
  const embedding = reader.floats(vocabulary * dim)
  const stacked = (name: string, rows: number, columns: number): GgufTensor[] =>
    Array.from({ length: layers }, (_, layer) =>
      matrix(`blk.${layer}.${name}.weight`, rows, columns, reader.floats(rows * columns)),
    )
  const norms = (name: string): GgufTensor[] =>
    Array.from({ length: layers }, (_, layer) =>
      vector(`blk.${layer}.${name}.weight`, reader.floats(dim)),
    )
  // In checkpoint order.
  const layerTensors = [
    ...norms('attn_norm'),
    ...stacked('attn_q', dim, dim),
    ...stacked('attn_k', kvDim, dim),
    ...stacked('attn_v', kvDim, dim),
    ...stacked('attn_output', dim, dim),
    ...norms('ffn_norm'),
    ...stacked('ffn_gate', hidden, dim),
    ...stacked('ffn_down', dim, hidden),
    ...stacked('ffn_up', hidden, dim),
  ]
  const outputNorm = vector('output_norm.weight', reader.floats(dim))
  reader.floats(context * headSize) // tables of sines and cosines, which the engine computes itself
  const metadata: [string, GgufValue][] = [
    ['general.architecture', { kind: 'string', value: 'llama' }],
    ['general.name', { kind: 'string', value: 'stories15M' }],
    ['general.license', { kind: 'string', value: 'mit' }],
    ['general.file_type', { kind: 'uint32', value: 7 }],
    ['llama.context_length', { kind: 'uint32', value: context }],
    ['llama.embedding_length', { kind: 'uint32', value: dim }],
    ['llama.block_count', { kind: 'uint32', value: layers }],
    ['llama.feed_forward_length', { kind: 'uint32', value: hidden }],
    ['llama.rope.dimension_count', { kind: 'uint32', value: headSize }],
    ['llama.attention.head_count', { kind: 'uint32', value: heads }],
    ['llama.attention.head_count_kv', { kind: 'uint32', value: kvHeads }],
    ['llama.attention.layer_norm_rms_epsilon', { kind: 'float32', value: 1e-5 }],
    ...readTokenizer(reader.rest(), vocabulary),
  ]
  // The output matrix is the embedding, which llama2.c signals by a positive vocabulary size.
  const tensors = [
    matrix('token_embd.weight', vocabulary, dim, embedding),
    ...layerTensors,
    outputNorm,
  ]
  return formatGguf(metadata, tensors)
}

function readTokenizer(bytes: Uint8Array, vocabulary: number): [string, GgufValue][] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tokens: string[] = []
  const scores: number[] = []
  const types: number[] = []
  let at = 4 // after the length of the longest token
  for (let id = 0; id < vocabulary; id++) {
    if (at + 8 > bytes.length) throw malformed('the tokenizer ends early')
    const length = view.getInt32(at + 4, true)
    const piece = bytes.subarray(at + 8, at + 8 + length)
    if (length < 1 || piece.length !== length) throw malformed('the tokenizer ends early')
    scores.push(view.getFloat32(at, true))
    tokens.push(tokenText(id, piece))
    types.push(tokenType(id))
    at += 8 + length
  }
  return [
    ['tokenizer.ggml.model', { kind: 'string', value: 'llama' }],
    ['tokenizer.ggml.tokens', { kind: 'strings', value: tokens }],
    ['tokenizer.ggml.scores', { kind: 'floats', value: scores }],
    ['tokenizer.ggml.token_type', { kind: 'ints', value: types }],
    ['tokenizer.ggml.bos_token_id', { kind: 'uint32', value: 1 }],
    ['tokenizer.ggml.eos_token_id', { kind: 'uint32', value: 2 }],
    ['tokenizer.ggml.unknown_token_id', { kind: 'uint32', value: 0 }],
    ['tokenizer.ggml.add_bos_token', { kind: 'bool', value: true }],
    ['tokenizer.ggml.add_eos_token', { kind: 'bool', value: false }],
  ]
}

/** llama2.c stores pieces as they print; SentencePiece marks a space with U+2581. */
function tokenText(id: number, piece: Uint8Array): string {
  if (id === 0) return '<unk>'
  if (id === 1) return '<s>'
  if (id === 2) return '</s>'
  if (id < byteTokensFrom + 256)
    return `<0x${(id - byteTokensFrom).toString(16).toUpperCase().padStart(2, '0')}>`
  return new TextDecoder().decode(piece).replaceAll(' ', '\u2581')
}

/** Token types of GGUF: 1 normal, 2 unknown, 3 control, 6 byte. */
function tokenType(id: number): number {
  if (id === 0) return 2
  if (id < byteTokensFrom) return 3
  return id < byteTokensFrom + 256 ? 6 : 1
}

function matrix(name: string, rows: number, columns: number, values: Float32Array): GgufTensor {
  return { name, dimensions: [columns, rows], kind: 'Q8_0', data: quantiseQ8(values) }
}

function vector(name: string, values: Float32Array): GgufTensor {
  const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  return { name, dimensions: [values.length], kind: 'F32', data }
}

/** Reads little-endian numbers in order; every machine that runs this is little-endian. */
class FloatReader {
  readonly #data: Uint8Array
  #at = 0

  constructor(data: Uint8Array) {
    this.#data = data
  }

  header(): [number, number, number, number, number, number, number] {
    const view = new DataView(this.#data.buffer, this.#data.byteOffset, this.#data.byteLength)
    const fields = Array.from({ length: headerFields }, (_, i) => view.getInt32(i * 4, true))
    if (fields.some((field) => field < 1 || field > 1 << 20)) throw malformed('its header is wrong')
    this.#at = headerFields * 4
    return fields as [number, number, number, number, number, number, number]
  }

  floats(count: number): Float32Array {
    const bytes = this.#data.subarray(this.#at, this.#at + count * 4)
    if (bytes.length !== count * 4) throw malformed('it ends early')
    this.#at += count * 4
    return new Float32Array(Uint8Array.from(bytes).buffer) // a copy, because of the alignment
  }

  rest(): Uint8Array {
    return this.#data.subarray(this.#at)
  }
}

const malformed = (why: string): ModelError =>
  new ModelError('source_malformed', `this is not a llama2.c checkpoint: ${why}`)
