/** POST /v1/embeddings. */
import { EngineError, type JsonObject } from '../../engine.ts'
import type { ApiAnswer, Exchange } from '../api-request.ts'
import { completeCall } from '../call-engine.ts'
import { jsonAnswer } from '../json-answer.ts'
import { isObject, unsupported } from '../json-value.ts'
import { engineBody } from './chat.ts'
import { createdOf } from './chat-answer.ts'
import { checkEmbeddings } from './check-embeddings.ts'
import { newId } from './new-id.ts'

export async function answerEmbeddings(exchange: Exchange): Promise<ApiAnswer> {
  const { body, model, meter } = exchange
  const count = checkEmbeddings(body)
  const { stream: _, ...wanted } = engineBody(exchange, body)
  const { body: answer } = await completeCall(exchange, 'embeddings', wanted)
  const asBase64 = body.encoding_format === 'base64'
  const data = readVectors(answer, count).map((vector, index) => {
    if (body.dimensions !== undefined && vector.length !== body.dimensions)
      throw unsupported('dimensions', `model '${model.id}' does not support these dimensions`)
    const embedding = asBase64 ? toBase64(vector) : Array.from(vector)
    return { object: 'embedding', index, embedding }
  })
  const { promptTokens } = meter.read()
  return jsonAnswer(exchange, {
    id: newId('embd-'),
    object: 'list',
    created: createdOf(answer),
    model: model.id,
    data,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  })
}

/** Vectors in the order of the inputs; an engine may return numbers, floats or base64. */
function readVectors(answer: JsonObject, count: number): Float32Array[] {
  const vectors = new Array<Float32Array | undefined>(count).fill(undefined)
  const data = Array.isArray(answer.data) ? answer.data.filter(isObject) : []
  data.forEach((item, i) => {
    const index = typeof item.index === 'number' ? item.index : i
    if (index < count) vectors[index] = readVector(item.embedding)
  })
  return vectors.map((vector) => {
    if (vector === undefined || vector.length === 0)
      throw new EngineError('engine_failed', 'the engine omitted an embedding')
    return vector
  })
}

function readVector(value: unknown): Float32Array | undefined {
  if (value instanceof Float32Array) return value
  if (Array.isArray(value)) return Float32Array.from(value)
  if (typeof value !== 'string') return undefined
  const bytes = Uint8Array.fromBase64(value)
  if (bytes.length % 4 !== 0) return undefined
  const view = new DataView(bytes.buffer)
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(i * 4, true))
}

/** Little-endian float32, as the official client reads it; it requests this by default. */
function toBase64(vector: Float32Array): string {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  vector.forEach((value, i) => {
    view.setFloat32(i * 4, value, true)
  })
  return bytes.toBase64()
}
