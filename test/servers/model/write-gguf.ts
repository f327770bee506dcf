/** The tiny model in the format of llama.cpp, made from its safetensors: the same weights and words. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Tensor = { readonly name: string; readonly shape: readonly number[]; data: Float32Array }
type Config = Readonly<Record<string, number>> & {
  readonly rope_parameters: { rope_theta: number }
}
type Tokenizer = {
  readonly model: { vocab: Record<string, number>; merges: readonly (readonly [string, string])[] }
}

const types = { u32: 4, f32: 6, bool: 7, text: 8, list: 9 } as const
const tokenTypes = { normal: 1, control: 3, shown: 4 } as const
const version = 3
const alignment = 32

export function writeGguf(folder: string, path: string): void {
  const config = readJson(folder, 'config.json') as Config
  const fields = [
    ...describeModel(config),
    ...describeTokens(readJson(folder, 'tokenizer.json') as Tokenizer),
    text('tokenizer.chat_template', readFileSync(join(folder, 'chat_template.jinja'), 'utf8')),
  ]
  const tensors = readTensors(join(folder, 'model.safetensors'), config)
  let offset = 0
  const infos = tensors.map(({ name, shape, data }) => {
    const info = [
      words(name),
      u32(shape.length),
      ...[...shape].reverse().map(u64),
      u32(0),
      u64(offset),
    ]
    offset += padded(data.byteLength)
    return Buffer.concat(info)
  })
  const head = Buffer.concat([
    ...[Buffer.from('GGUF'), u32(version), u64(tensors.length), u64(fields.length)],
    ...[...fields, ...infos],
  ])
  const bodies = tensors.map(({ data }) => align(Buffer.from(data.buffer)))
  writeFileSync(path, Buffer.concat([align(head), ...bodies]))
}

function describeModel(config: Config): Buffer[] {
  const count = (name: string, value: number | undefined) =>
    field(name, types.u32, u32(value ?? Number.NaN))
  const real = (name: string, value: number | undefined) =>
    field(name, types.f32, f32(value ?? Number.NaN))
  return [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny'),
    count('general.alignment', alignment),
    count('llama.vocab_size', config.vocab_size),
    count('llama.context_length', config.max_position_embeddings),
    count('llama.embedding_length', config.hidden_size),
    count('llama.block_count', config.num_hidden_layers),
    count('llama.feed_forward_length', config.intermediate_size),
    count('llama.attention.head_count', config.num_attention_heads),
    count('llama.attention.head_count_kv', config.num_key_value_heads),
    count('llama.rope.dimension_count', config.head_dim),
    real('llama.rope.freq_base', config.rope_parameters.rope_theta),
    real('llama.attention.layer_norm_rms_epsilon', config.rms_norm_eps),
  ]
}

/** Marks of thoughts and calls are shown, as they are by vLLM; marks of turns are not. */
function describeTokens({ model }: Tokenizer): Buffer[] {
  const tokens = Object.entries(model.vocab).sort(([, a], [, b]) => a - b)
  const typeOf = (token: string) => {
    if (/^<\|\w+\|>$/.test(token)) return tokenTypes.control
    return /^<\/?(think|tool_call)>$/.test(token) ? tokenTypes.shown : tokenTypes.normal
  }
  const kinds = tokens.map(([token]) => i32(typeOf(token)))
  return [
    text('tokenizer.ggml.model', 'gpt2'),
    text('tokenizer.ggml.pre', 'gpt-2'),
    list(
      'tokenizer.ggml.tokens',
      types.text,
      tokens.map(([token]) => words(token)),
    ),
    list('tokenizer.ggml.token_type', 5, kinds),
    list(
      'tokenizer.ggml.merges',
      types.text,
      model.merges.map((pair) => words(pair.join(' '))),
    ),
    field('tokenizer.ggml.eos_token_id', types.u32, u32(model.vocab['<|end|>'] ?? 0)),
    field('tokenizer.ggml.add_bos_token', types.bool, Buffer.from([0])),
  ]
}

const names: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens\./, 'token_embd.'],
  [/^model\.norm\./, 'output_norm.'],
  [/^model\.layers\./, 'blk.'],
  [/input_layernorm/, 'attn_norm'],
  [/post_attention_layernorm/, 'ffn_norm'],
  [/self_attn\.([qkv])_proj/, 'attn_$1'],
  [/self_attn\.o_proj/, 'attn_output'],
  [/mlp\.(gate|up|down)_proj/, 'ffn_$1'],
]

function readTensors(path: string, config: Config): Tensor[] {
  const bytes = readFileSync(path)
  const headLength = Number(bytes.readBigUInt64LE(0))
  const head = JSON.parse(bytes.toString('utf8', 8, 8 + headLength)) as Record<
    string,
    { shape: number[]; data_offsets: [number, number] }
  >
  return Object.entries(head)
    .filter(([name]) => name !== '__metadata__')
    .map(
      ([
        given,
        {
          shape,
          data_offsets: [start, end],
        },
      ]) => {
        const from = 8 + headLength + start
        const data = widen(bytes.subarray(from, from + end - start))
        const name = names.reduce((all, [found, ours]) => all.replace(found, ours), given)
        const heads = /attn_q\./.test(name)
          ? config.num_attention_heads
          : config.num_key_value_heads
        const isTurned = /attn_[qk]\./.test(name)
        return { name, shape, data: isTurned ? interleave(data, shape, heads ?? 1) : data }
      },
    )
}

/** bfloat16 is the upper half of a float32. */
function widen(bytes: Buffer): Float32Array {
  const bits = new Uint32Array(bytes.length / 2)
  for (let index = 0; index < bits.length; index++)
    bits[index] = (bytes.readUInt16LE(index * 2) << 16) >>> 0
  return new Float32Array(bits.buffer)
}

/** llama.cpp turns neighbours into each other, the original the halves of a head. */
function interleave(data: Float32Array, [rows = 0, columns = 0]: readonly number[], heads: number) {
  const turned = new Float32Array(data.length)
  const size = rows / heads
  for (let row = 0; row < rows; row++) {
    const [head, place] = [Math.floor(row / size), row % size]
    const target = head * size + (place % (size / 2)) * 2 + Math.floor(place / (size / 2))
    turned.set(data.subarray(row * columns, (row + 1) * columns), target * columns)
  }
  return turned
}

const readJson = (folder: string, name: string): unknown =>
  JSON.parse(readFileSync(join(folder, name), 'utf8'))
const padded = (length: number) => Math.ceil(length / alignment) * alignment
const align = (bytes: Buffer) =>
  Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)])
const u32 = (value: number) => Buffer.from(new Uint32Array([value]).buffer)
const i32 = (value: number) => Buffer.from(new Int32Array([value]).buffer)
const f32 = (value: number) => Buffer.from(new Float32Array([value]).buffer)
const u64 = (value: number) => Buffer.from(new BigUint64Array([BigInt(value)]).buffer)
const words = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
const field = (name: string, type: number, value: Buffer) =>
  Buffer.concat([words(name), u32(type), value])
const text = (name: string, value: string) => field(name, types.text, words(value))
const list = (name: string, type: number, items: readonly Buffer[]) =>
  field(name, types.list, Buffer.concat([u32(type), u64(items.length), ...items]))
