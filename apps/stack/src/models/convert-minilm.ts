/** Converts a BERT sentence encoder in half-float safetensors into a GGUF file of the bert architecture. */
import { formatGguf, type GgufTensor, type GgufValue } from './gguf-file.ts'
import { ModelError } from './model-error.ts'
import { widenHalves } from './number-formats.ts'
import { parseSafetensors, type Safetensor } from './safetensors.ts'

const meanPooling = 1

/** Expects the three files of the package: weights, tokenizer and configuration. */
export function convertMiniLm(
  weights: Uint8Array,
  tokenizerJson: Uint8Array,
  configJson: Uint8Array,
): Uint8Array[] {
  const config = parseJson<BertConfig>(configJson)
  const tokenizer = parseJson<WordPieceFile>(tokenizerJson)
  const tensors = parseSafetensors(weights)
  const metadata: [string, GgufValue][] = [
    ['general.architecture', { kind: 'string', value: 'bert' }],
    ['general.name', { kind: 'string', value: 'all-MiniLM-L6-v2' }],
    ['general.license', { kind: 'string', value: 'apache-2.0' }],
    ['general.file_type', { kind: 'uint32', value: 1 }],
    ['bert.context_length', { kind: 'uint32', value: config.max_position_embeddings }],
    ['bert.embedding_length', { kind: 'uint32', value: config.hidden_size }],
    ['bert.feed_forward_length', { kind: 'uint32', value: config.intermediate_size }],
    ['bert.block_count', { kind: 'uint32', value: config.num_hidden_layers }],
    ['bert.attention.head_count', { kind: 'uint32', value: config.num_attention_heads }],
    ['bert.attention.layer_norm_epsilon', { kind: 'float32', value: config.layer_norm_eps }],
    ['bert.attention.causal', { kind: 'bool', value: false }],
    ['bert.pooling_type', { kind: 'uint32', value: meanPooling }],
    ...tokenizerMetadata(tokenizer, config),
  ]
  return formatGguf(metadata, [...mapTensors(tensors, config.num_hidden_layers)])
}

type BertConfig = {
  hidden_size: number
  intermediate_size: number
  layer_norm_eps: number
  max_position_embeddings: number
  num_attention_heads: number
  num_hidden_layers: number
  type_vocab_size: number
}

type WordPieceFile = {
  added_tokens: { id: number; content: string; special: boolean }[]
  model: { vocab: Record<string, number> }
}

/** llama.cpp marks word starts with U+2581 and leaves continuations bare; BERT does the opposite. */
function tokenizerMetadata(file: WordPieceFile, config: BertConfig): [string, GgufValue][] {
  const special = new Map(file.added_tokens.map((token) => [token.content, token.id]))
  const tokens: string[] = []
  for (const [piece, id] of Object.entries(file.model.vocab)) {
    if (special.has(piece) || /^\[unused\d+\]$/.test(piece)) tokens[id] = piece
    else tokens[id] = piece.startsWith('##') ? piece.slice(2) : `\u2581${piece}`
  }
  if (tokens.length !== Object.keys(file.model.vocab).length)
    throw new ModelError('source_malformed', 'the tokenizer has holes in its vocabulary')
  const idOf = (token: string): number => {
    const id = special.get(token)
    if (id === undefined)
      throw new ModelError('source_malformed', `the tokenizer lacks the special token ${token}`)
    return id
  }
  const types = tokens.map((piece) => (special.has(piece) ? (piece === '[UNK]' ? 2 : 3) : 1))
  return [
    ['tokenizer.ggml.model', { kind: 'string', value: 'bert' }],
    ['tokenizer.ggml.token_type_count', { kind: 'uint32', value: config.type_vocab_size }],
    ['tokenizer.ggml.tokens', { kind: 'strings', value: tokens }],
    ['tokenizer.ggml.token_type', { kind: 'ints', value: types }],
    ['tokenizer.ggml.unknown_token_id', { kind: 'uint32', value: idOf('[UNK]') }],
    ['tokenizer.ggml.seperator_token_id', { kind: 'uint32', value: idOf('[SEP]') }], // GGUF spells it so
    ['tokenizer.ggml.padding_token_id', { kind: 'uint32', value: idOf('[PAD]') }],
    ['tokenizer.ggml.cls_token_id', { kind: 'uint32', value: idOf('[CLS]') }],
    ['tokenizer.ggml.mask_token_id', { kind: 'uint32', value: idOf('[MASK]') }],
  ]
}

const layerNames: readonly (readonly [string, string])[] = [
  ['attention.self.query', 'attn_q'],
  ['attention.self.key', 'attn_k'],
  ['attention.self.value', 'attn_v'],
  ['attention.output.dense', 'attn_output'],
  ['attention.output.LayerNorm', 'attn_output_norm'],
  ['intermediate.dense', 'ffn_up'],
  ['output.dense', 'ffn_down'],
  ['output.LayerNorm', 'layer_output_norm'],
]

function* mapTensors(
  tensors: ReadonlyMap<string, Safetensor>,
  layers: number,
): Generator<GgufTensor> {
  const take = (from: string, to: string, kind: 'F16' | 'F32'): GgufTensor => {
    const tensor = tensors.get(from)
    if (tensor?.dtype !== 'F16')
      throw new ModelError('source_malformed', `the weights lack the half-float tensor ${from}`)
    const data = kind === 'F16' ? tensor.data : widenHalves(tensor.data)
    return { name: to, dimensions: tensor.shape.toReversed(), kind, data }
  }
  yield take('embeddings.word_embeddings.weight', 'token_embd.weight', 'F16')
  yield take('embeddings.position_embeddings.weight', 'position_embd.weight', 'F32')
  yield take('embeddings.token_type_embeddings.weight', 'token_types.weight', 'F32')
  yield take('embeddings.LayerNorm.weight', 'token_embd_norm.weight', 'F32')
  yield take('embeddings.LayerNorm.bias', 'token_embd_norm.bias', 'F32')
  for (let layer = 0; layer < layers; layer++)
    for (const [from, to] of layerNames) {
      const isNorm = from.endsWith('LayerNorm')
      const source = `encoder.layer.${layer}.${from}`
      yield take(`${source}.weight`, `blk.${layer}.${to}.weight`, isNorm ? 'F32' : 'F16')
      yield take(`${source}.bias`, `blk.${layer}.${to}.bias`, 'F32')
    }
}

const parseJson = <T>(bytes: Uint8Array): T => JSON.parse(new TextDecoder().decode(bytes)) as T
