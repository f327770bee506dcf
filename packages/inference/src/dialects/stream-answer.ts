/** Answers with an event stream: engine chunks in, the bytes of one dialect out. */
import type { ApiError } from '@privatemode/protocol/api'
import type { EngineEndpoint, JsonObject, NativeEndpoint } from '../engine.ts'
import type { ApiAnswer, Exchange } from './api-request.ts'
import { type StartedStream, startNative, startStream, tryNative } from './call-engine.ts'
import { toApiError } from './engine-failure.ts'
import { KeepAlive } from './keep-alive.ts'

/** Writes the events of one stream in one dialect. */
export interface StreamWriter {
  readonly ping: string
  /** Whether it writes chunks that were joined as if they were not. */
  readonly takesJoined?: boolean
  /** The events that one engine chunk becomes; often one, sometimes none. */
  write(chunk: JsonObject): string
  /** The events of a proper end; throws if the engine's chunks were not a complete answer. */
  end(fitted: boolean): string
  /** The event of a failure, after which nothing may look like a proper end. */
  fail(error: ApiError): string
}

/** The same request for the engine's native endpoint, tried before the translated one. */
export type NativePlan = {
  readonly endpoint: NativeEndpoint
  readonly body: JsonObject
  readonly writer: StreamWriter
}

const encoder = new TextEncoder()
/** Chunks that arrive together are sent together up to this size, then other requests get a turn. */
const maxPieceChars = 16 * 1024

type Chunk = JsonObject | undefined

export async function streamAnswer(
  exchange: Exchange,
  endpoint: EngineEndpoint,
  body: JsonObject,
  translated: StreamWriter,
  native?: NativePlan,
): Promise<ApiAnswer> {
  const stopped = new AbortController()
  const { signal } = stopped
  if (exchange.signal.aborted) stopped.abort(exchange.signal.reason)
  let writer = native?.writer ?? translated
  const starting = start()
  // The engine has been asked by now. A listener costs a fraction of `AbortSignal.any`.
  exchange.signal.addEventListener('abort', () => stopped.abort(exchange.signal.reason))
  const hasStarted = await settlesWithin(starting, exchange.times.commitMs)
  let outcome: 'complete' | 'failed' = 'failed' // failed unless it ends properly

  async function start(): Promise<StartedStream> {
    if (native !== undefined) {
      const { endpoint: own, body: asked } = native
      const started = await tryNative(() => startNative(exchange, own, asked, body, signal))
      if (started !== undefined) return started
      writer = translated
    }
    return startStream(exchange, endpoint, body, signal, translated.takesJoined)
  }

  async function* events(): AsyncGenerator<Uint8Array> {
    let started: StartedStream | undefined
    let text = ''
    try {
      // The status is sent while the prompt is still being processed: the first byte must not wait.
      if (!hasStarted) yield encoder.encode(writer.ping)
      started = await starting
      const { preamble, first, rest } = started
      for (const chunk of preamble) text += writer.write(chunk)
      for (let next = first; next.done !== true; next = await rest.next()) {
        for (let chunk = next.value as Chunk; chunk !== undefined; chunk = rest.ready?.()) {
          text += writer.write(chunk)
          if (text.length > maxPieceChars) break
        }
        const isFull = text.length > maxPieceChars
        if (text !== '') yield encoder.encode(text)
        text = ''
        if (isFull) await new Promise((resolve) => setImmediate(resolve))
      }
      const end = writer.end(started.fitted)
      outcome = 'complete'
      yield encoder.encode(end)
    } catch (thrown) {
      yield encoder.encode(text + writer.fail(toApiError(thrown, { ...exchange, body })))
    } finally {
      // After a proper end there is nothing left to stop.
      if (outcome !== 'complete') stopped.abort()
      await started?.rest.return?.()
    }
  }

  return {
    status: 200,
    headers: {
      ...exchange.headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
    body: new KeepAlive(events(), {
      ping: encoder.encode(writer.ping),
      periodMs: exchange.times.keepAliveMs,
      stop: () => stopped.abort(),
    }),
    usage: () => exchange.meter.read(),
    settling: () => exchange.meter.settling,
    outcome: () => (exchange.signal.aborted && outcome === 'failed' ? 'aborted' : outcome),
  }
}

/** Whether a promise settles in time; a rejection is thrown, a result stays in the promise. */
async function settlesWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
