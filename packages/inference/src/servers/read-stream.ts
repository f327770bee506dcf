/** Reads a server's event stream as chunk objects, and tracks its counts. */
import { SseDecoder, SseError } from '@privatemode/protocol/api'
import { EngineError, type JsonObject } from '../engine.ts'
import { isEmptyEnd, isFailure, isLastEvent, isNative } from './native-endpoints.ts'
import { renameFields } from './rename-fields.ts'
import { RepeatedChunks } from './repeated-chunks.ts'
import { connectionFailure, type OpenRequest, type PieceReader } from './server-client.ts'
import { toEngineError } from './server-error.ts'
import { type Settle, type StreamCall, StreamCounts } from './stream-counts.ts'

export type StreamReading = {
  /** Whether counts inside a stream belong to the choice they come with. */
  readonly isPerChoice: boolean
  /** How many chunks that arrive together may be returned as one, with all of their text. */
  readonly mostJoined?: number
  /** How long chunks may wait for others, where no one sees when they arrived. */
  readonly gatherMs?: number
  /** Called with a failure before it is thrown, so that missing counts can be requested. */
  readonly onFailure: (failure: EngineError) => Promise<void>
  readonly onEnd: () => void
  readonly settle?: Settle
  /** How long a server may continue after it was told to stop. */
  readonly restMs: number
  /** Tells the server to end the answer; false if it was not reached. */
  readonly abort?: (() => Promise<boolean>) | undefined
}

/** How long, and how much, an answer may go on after its last event before its connection is cut. */
const endWithinMs = 1_000
const maxEndBytes = 16 * 1024

/** Ends properly only after the server's end marker; a connection that closes before it is a failure. */
export class ServerStream implements AsyncIterableIterator<JsonObject> {
  readonly #request: OpenRequest
  readonly #call: StreamCall
  readonly #reading: StreamReading
  readonly #reader: PieceReader | undefined
  readonly #counts: StreamCounts
  readonly #decoder = new SseDecoder()
  readonly #onAbort = () => {
    const settling = this.#settle()
    this.#call.onSettling?.(settling)
  }
  readonly #repeated: RepeatedChunks
  #hasEnded = false
  #isOver = false
  #isAborted = false
  #failure: unknown

  constructor(request: OpenRequest, call: StreamCall, reading: StreamReading) {
    this.#request = request
    this.#call = call
    this.#reading = reading
    this.#reader = request.response.body?.getReader()
    if (reading.gatherMs !== undefined) this.#reader?.gather?.(reading.gatherMs)
    this.#repeated = new RepeatedChunks(reading.mostJoined ?? 1)
    this.#counts = new StreamCounts(call, reading.isPerChoice, reading.settle)
    // The record of a call is signed the moment it is aborted, before a reader notices.
    if (call.signal.aborted) this.#onAbort()
    else call.signal.addEventListener('abort', this.#onAbort)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<JsonObject>> {
    if (this.#isOver) return { done: true, value: undefined }
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure
        const chunk = this.#take()
        if (chunk !== undefined) return { done: false, value: chunk }
        if (this.#hasEnded) return await this.return()
        await this.#read()
      }
    } catch (error) {
      throw await this.#fail(error)
    }
  }

  /** A failure here appears in `next`, after everything that came before it. */
  ready(): JsonObject | undefined {
    try {
      return this.#isOver || this.#failure !== undefined ? undefined : this.#take()
    } catch (error) {
      this.#failure = error
      return undefined
    }
  }

  async return(): Promise<IteratorResult<JsonObject>> {
    if (!this.#isOver) {
      this.#isOver = true
      this.#reading.onEnd()
      this.#request.close()
      this.#call.signal.removeEventListener('abort', this.#onAbort)
      if (!this.#isAborted) await this.#leave()
    }
    return { done: true, value: undefined }
  }

  async #leave(): Promise<void> {
    // A stream that ends without its counts has failed: there is no one left to ask.
    this.#counts.estimate()
    if (this.#hasEnded) void this.#readEnd()
    else await this.#cancel()
  }

  /**
   * Servers send the end of an answer apart from its last event, and a connection that is cut in
   * between cannot be used again.
   */
  async #readEnd(): Promise<void> {
    const timer = setTimeout(() => void this.#cancel(), endWithinMs)
    try {
      for (let bytes = 0; ; ) {
        const read = await this.#reader?.read()
        if (read?.value === undefined) return
        bytes += read.value.length
        if (bytes > maxEndBytes) return await this.#cancel()
      }
    } catch {
      // The answer is complete; only its connection is lost.
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * The server generates until it notices that it should stop, and that is billed as well: so what
   * it still sends is read to the end. One that cannot be told notices that the connection closes.
   */
  async #settle(): Promise<void> {
    this.#isAborted = true
    this.#countWaiting()
    const timer = setTimeout(() => void this.#cancel(), this.#reading.restMs)
    const rest = this.#reader?.rest?.((piece) => this.#countPiece(piece))
    const isTold = (await this.#reading.abort?.()) ?? false
    if (!isTold) this.#reader?.hangUp?.()
    await rest
    clearTimeout(timer)
    await this.#cancel()
    await this.#counts.settle()
  }

  async #cancel(): Promise<void> {
    await this.#reader?.cancel().catch(() => {}) // it may already be broken; ignored
  }

  #countPiece(piece: Uint8Array): void {
    this.#decoder.add(piece)
    this.#countWaiting()
  }

  /** Reads the counts of events that will not be consumed any more. */
  #countWaiting(): void {
    try {
      while (this.#take() !== undefined) {}
    } catch {
      this.#decoder.clear() // a server that fails now keeps the counts it has reported
    }
  }

  async #read(): Promise<void> {
    const read = await this.#reader?.read()
    if (read?.value === undefined) {
      if (this.#isAborted) throw connectionFailure(undefined, this.#request.signal)
      throw new EngineError('engine_failed', 'the model server ended in mid-stream')
    }
    this.#request.heard()
    this.#decoder.add(read.value)
  }

  async #fail(error: unknown): Promise<EngineError> {
    try {
      if (error instanceof SseError)
        return new EngineError('engine_failed', 'the model server sent an event that never ends')
      const failure = connectionFailure(error, this.#request.signal)
      await this.#reading.onFailure(failure)
      // vLLM refuses some native streams after a status of 200: with an event, or by closing the
      // connection.
      const isBroken = failure.code === 'engine_failed' || failure.code === 'engine_unavailable'
      const isOurs = this.#request.signal.aborted
      if (isBroken && !isOurs && isNative(this.#call.endpoint) && this.#counts.isEmpty)
        return new EngineError('engine_failed', failure.message, { isEarly: true })
      // A connection that breaks during an answer is a failed answer, not an unavailable server.
      return failure.code === 'engine_unavailable'
        ? new EngineError('engine_failed', 'the model server broke off in mid-stream')
        : failure
    } finally {
      await this.return()
    }
  }

  #take(): JsonObject | undefined {
    if (this.#hasEnded) return undefined
    const { endpoint } = this.#call
    const run = isNative(endpoint) ? undefined : this.#repeated.take(this.#decoder)
    if (run !== undefined) {
      this.#counts.read(run.chunk, run.events)
      return renameFields(run.chunk)
    }
    let event = this.#decoder.next()
    // llama-server starts a completion of several prompts with an empty event.
    while (event?.data === 'null') event = this.#decoder.next()
    if (event === undefined) return undefined
    if (event.data === '[DONE]') {
      this.#hasEnded = !isNative(endpoint)
      this.#decoder.clear()
      return undefined
    }
    const chunk = parseChunk(event.data, this.#call)
    if (this.#counts.isEmpty && isEmptyEnd(chunk))
      throw new EngineError('engine_failed', 'the model server ended without an answer')
    this.#counts.read(chunk)
    if (isNative(endpoint)) this.#hasEnded = isLastEvent(endpoint, chunk)
    else this.#repeated.learn(event.data, chunk)
    return renameFields(chunk)
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
    throw new EngineError('engine_failed', 'the model server sent an event that is not an object')
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
