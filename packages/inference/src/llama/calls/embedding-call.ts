/** Answers an embeddings call. */
import { setImmediate } from 'node:timers/promises'
import type { LlamaModel } from 'node-llama-cpp'
import {
  type EngineAnswer,
  type EngineCall,
  EngineError,
  type EngineModel,
  type JsonObject,
} from '../../engine.ts'
import { type Embedder, normalised } from '../model/embedder.ts'
import type { PromptTokens } from '../prompt/prompt-tokens.ts'
import { tooLong } from '../prompt/too-long.ts'
import { integer } from '../scheduling/sampling.ts'
import { UsageCount } from './usage-count.ts'

export type EmbeddingModel = {
  readonly info: EngineModel
  readonly model: LlamaModel
  readonly tokenizer: PromptTokens
  readonly embedder: Embedder
  /** A vector's first numbers form a vector of their own (Matryoshka models). */
  readonly canShorten: boolean
  close(): Promise<void>
}

const maxInputs = 2048
const turnMs = 20

/** Vectors are returned as Float32Array; encoding them is not the engine's concern. */
export async function answerEmbeddings(
  model: EmbeddingModel,
  { body, stream, signal, onUsage }: EngineCall,
): Promise<EngineAnswer> {
  if (stream)
    throw new EngineError('unsupported_value', 'embeddings are not streamed', { param: 'stream' })
  const size = readDimensions(body, model)
  const inputs = await readInputs(body, model)
  const usage = new UsageCount(onUsage)
  const vectors = await model.embedder.embed(inputs, signal, (tokens) => usage.addPrompt(tokens, 0))
  const total = inputs.reduce((sum, tokens) => sum + tokens.length, 0)
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: size < vector.length ? normalised(vector.subarray(0, size)) : vector,
  }))
  const counts = { prompt_tokens: total, total_tokens: total }
  return { kind: 'complete', body: { object: 'list', model: model.info.id, data, usage: counts } }
}

function readDimensions(body: JsonObject, { model, canShorten }: EmbeddingModel): number {
  const size = model.embeddingVectorSize
  const wanted = integer(body, 'dimensions', 1, size) ?? size
  if (wanted !== size && !canShorten)
    throw new EngineError('unsupported_value', `this model's vectors have ${size} dimensions`, {
      param: 'dimensions',
    })
  return wanted
}

/** Others get their turn in between: thousands of inputs keep a tokenizer busy for seconds. */
async function readInputs(body: JsonObject, model: EmbeddingModel): Promise<number[][]> {
  const { input } = body
  const isOne = typeof input === 'string' || (Array.isArray(input) && typeof input[0] === 'number')
  const inputs: unknown[] = isOne ? [input] : Array.isArray(input) ? input : []
  if (inputs.length === 0 || inputs.length > maxInputs)
    throw invalid(`input must be text, token ids, or a list of 1 to ${maxInputs} of these`)
  const read: number[][] = []
  let sinceMs = performance.now()
  for (const one of inputs) {
    read.push(readInput(one, model))
    if (performance.now() - sinceMs < turnMs) continue
    await setImmediate()
    sinceMs = performance.now()
  }
  return read
}

function readInput(input: unknown, { tokenizer, info }: EmbeddingModel): number[] {
  const tokens =
    typeof input === 'string' && input !== ''
      ? tokenizer.ofEmbedding(input)
      : Array.isArray(input)
        ? tokenizer.ofIds(input, 'input')
        : []
  if (tokens.length === 0) throw invalid('an input must not be empty')
  if (tokens.length > info.contextLength) throw tooLong(tokens.length, info.contextLength, 'input')
  return tokens
}

const invalid = (message: string): EngineError =>
  new EngineError('invalid_value', message, { param: 'input' })
