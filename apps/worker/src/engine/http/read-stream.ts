/** Reads a server's event stream as chunk objects, and its counts while it runs. */
import { SseDecoder, SseError } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../engine.ts'
import { isFailure, isLastEvent, isNative } from './native-endpoints.ts'
import { connectionFailure, type OpenRequest } from './server-client.ts'
import { toEngineError } from './server-error.ts'
import { type StreamCall, StreamCounts } from './stream-counts.ts'

export type StreamReading = {
  /** Whether counts inside a stream are those of the choice that they come with. */
  readonly isPerChoice: boolean
  /** Told of a failure before it is thrown, so that what is not known yet can be asked for. */
  readonly onFailure: (failure: EngineError) => Promise<void>
  readonly onEnd: () => void
}

/** Ends well only after the server's end mark; a connection that closes before it is a failure. */
export async function* readStream(
  request: OpenRequest,
  call: StreamCall,
  { isPerChoice, onFailure, onEnd }: StreamReading,
): AsyncGenerator<JsonObject> {
  const decoder = new SseDecoder()
  const counts = new StreamCounts(call, isPerChoice)
  let hasEnded = false
  const reader = request.response.body?.getReader()
  try {
    while (reader !== undefined && !hasEnded) {
      const { done, value } = await reader.read()
      if (done) break
      request.heard()
      for (const { data } of decoder.push(value)) {
        if (hasEnded) break
        if (data === '[DONE]') {
          hasEnded = !isNative(call.endpoint)
          break
        }
        const chunk = parseChunk(data, call)
        counts.read(chunk)
        yield renameFields(chunk)
        hasEnded = isNative(call.endpoint) && isLastEvent(call.endpoint, chunk)
      }
    }
    if (!hasEnded) throw new EngineError('engine_failed', 'the model server ended in mid-stream')
  } catch (error) {
    if (error instanceof SseError) {
      throw new EngineError('engine_failed', 'the model server sent an event without end')
    }
    // A connection that breaks inside an answer is a failed answer, not a server that is away.
    const failure = connectionFailure(error, request.signal)
    await onFailure(failure)
    throw failure.code === 'engine_unavailable'
      ? new EngineError('engine_failed', 'the model server broke off in mid-stream')
      : failure
  } finally {
    counts.stop()
    onEnd()
    request.close()
    await reader?.cancel().catch(() => {}) // it may be broken already, which is no news here
  }
}

function parseChunk(data: string, { endpoint, body }: StreamCall): JsonObject {
  let chunk: unknown
  try {
    chunk = JSON.parse(data)
  } catch {
    throw new EngineError('engine_failed', 'the model server sent an event that is not JSON')
  }
  if (typeof chunk !== 'object' || chunk === null) {
    throw new EngineError('engine_failed', 'the model server sent an event that is no object')
  }
  const object = chunk as JsonObject
  if (object.error !== undefined && object.error !== null) {
    const { code } = object.error as JsonObject
    throw toEngineError(typeof code === 'number' ? code : 500, object, Object.keys(body))
  }
  if (isNative(endpoint) && isFailure(object))
    throw new EngineError('engine_failed', 'the model server failed in mid-stream')
  return object
}

/** SGLang's name for the stop string that was met. */
export function renameFields(answer: JsonObject): JsonObject {
  if (!Array.isArray(answer.choices)) return answer
  for (const choice of answer.choices as JsonObject[]) {
    if (choice?.matched_stop === undefined) continue
    choice.stop_reason ??= choice.matched_stop
    delete choice.matched_stop
  }
  return answer
}
