/** HTTP client for one model server: bounded connections, bounded waiting, rewritten errors. */
import { EngineError, type JsonObject } from '../engine.ts'
import { formatPieces } from '../long-text.ts'
import type { HttpEngineSettings } from './http-settings.ts'
import { toEngineError } from './server-error.ts'

export type ServerFetch = (url: string, asked: ServerAsk) => Promise<ServerAnswer>

export type ServerAsk = {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body: string | null
  /** Instead of the body, for a server that is reached over plain sockets. */
  readonly pieces?: readonly Uint8Array[]
  readonly signal: AbortSignal
  readonly redirect: 'manual'
  readonly timeout: false
}

/** The part of a `Response` that is used. */
export type ServerAnswer = Pick<Response, 'ok' | 'status' | 'text'> & {
  json(): Promise<unknown>
  readonly body: { getReader(): PieceReader; cancel(): Promise<void> } | null
}

export type PieceReader = {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<void>
  /** From now on, a read also waits for what arrives this long after its first piece. */
  gather?(ms: number): void
  /**
   * What is buffered and what the server still sends goes to `take`, and it resolves at the end;
   * `read` fails from now on. Absent if a connection can only be cut.
   */
  rest?(take: (piece: Uint8Array) => void): Promise<void>
  /** Closes our side of the connection, so that the server stops. */
  hangUp?(): void
}

const maxErrorBytes = 64 * 1024

export class ServerClient {
  readonly #root: string
  readonly #settings: HttpEngineSettings
  readonly #fetch: ServerFetch
  #active = 0

  constructor(settings: HttpEngineSettings, fetch: ServerFetch) {
    this.#root = settings.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')
    this.#settings = settings
    this.#fetch = fetch
  }

  get active(): number {
    return this.#active
  }

  /** Queries the server itself: undefined if it has no such path or does not answer with JSON. */
  async ask(path: string, body?: JsonObject): Promise<JsonObject | undefined> {
    return (await this.probe(path, body)).answer
  }

  /** Like `ask`, with the status: a missing path differs from a refusal. */
  async probe(
    path: string,
    body?: JsonObject,
  ): Promise<{ readonly status: number; readonly answer: JsonObject | undefined }> {
    const signal = AbortSignal.timeout(this.#settings.probeTimeoutMs)
    const response = await this.#send(path, body, signal)
    if (response.ok) return { status: response.status, answer: await readObject(response, signal) }
    await response.body?.cancel()
    return { status: response.status, answer: undefined }
  }

  /** The first request to a server: if it fails, the operator must learn why. */
  async askFirst(path: string): Promise<JsonObject> {
    const signal = AbortSignal.timeout(this.#settings.probeTimeoutMs)
    const response = await this.#send(path, undefined, signal)
    const answer = response.ok ? await readObject(response, signal) : undefined
    if (answer !== undefined) return answer
    await response.body?.cancel()
    const { status } = response
    const received = response.ok ? 'no JSON' : `status ${status}`
    const advice = status === 401 || status === 403 ? ': it requires a different API key' : ''
    throw new EngineError(
      'engine_unavailable',
      `the model server answers ${path} with ${received}${advice}`,
    )
  }

  /** Whether a path answers with success; the content does not matter. */
  async isUp(path: string): Promise<boolean> {
    const response = await this.#send(
      path,
      undefined,
      AbortSignal.timeout(this.#settings.probeTimeoutMs),
    )
    await response.body?.cancel()
    return response.ok
  }

  /** Whether the server accepts what it is told; what it answers does not matter. */
  async tell(path: string, body: JsonObject, signal: AbortSignal): Promise<boolean> {
    const response = await this.#send(path, body, signal).catch(() => undefined)
    await response?.body?.cancel()
    return response?.ok ?? false
  }

  /** Like `ask`, but the caller handles a refusal. */
  async require(path: string, body: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const response = await this.#send(path, body, signal)
    if (!response.ok) throw await failureOf(response, body)
    return requireObject(response, signal)
  }

  /** Like `require`, for what occupies the engine: one of the bounded number of requests. */
  async requireCall(path: string, body: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const request = await this.open(path, body, signal)
    try {
      return await requireObject(request.response, request.signal)
    } finally {
      request.close()
    }
  }

  /**
   * Opens one of the bounded number of requests; `close` must be called when it is done. An answer
   * that is `read` piece by piece is not cut by an abort once it has started: its reader hangs up
   * or cancels.
   */
  async open(
    path: string,
    body: JsonObject,
    signal: AbortSignal,
    use: 'read' | 'whole' = 'whole',
  ): Promise<OpenRequest> {
    if (this.#active >= this.#settings.maxConcurrent) {
      const message = `the worker has ${this.#active} requests at the model server`
      throw new EngineError('overloaded', message, { retryAfterSeconds: 1 })
    }
    if (signal.aborted) throw connectionFailure(undefined, signal)
    this.#active++
    // One controller cuts the request for all reasons: signals that follow others cost more.
    const cut = new AbortController()
    let watch: SilenceWatch | undefined
    let state: 'beginning' | 'begun' | 'closed' = 'beginning'
    const close = () => {
      if (state === 'closed') return
      state = 'closed'
      this.#active--
      watch?.stop()
      signal.removeEventListener('abort', abort)
    }
    const abort = () => {
      if (state === 'beginning' || use === 'whole') cut.abort(signal.reason)
      close() // even if no one reads the answer any more
    }
    try {
      const sending = this.#send(path, body, cut.signal)
      // While the server works on what was just written: its first token does not wait for these.
      watch = new SilenceWatch(this.#settings.silenceMs, cut)
      signal.addEventListener('abort', abort)
      const response = await sending
      if (!response.ok) throw await failureOf(response, body)
      if (state === 'beginning') state = 'begun'
      return { response, signal: eitherOf(cut.signal, signal), heard: () => watch?.heard(), close }
    } catch (error) {
      close()
      throw error
    }
  }

  async #send(
    path: string,
    body: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<ServerAnswer> {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const { apiKey } = this.#settings
    if (apiKey !== undefined) headers.authorization = `Bearer ${apiKey.reveal()}`
    const json = body === undefined ? null : formatPieces(body)
    const asked: ServerAsk = {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(json === null || typeof json === 'string'
        ? { body: json }
        : { body: null, pieces: json }),
      signal,
      redirect: 'manual', // a prompt goes to the configured server and nowhere else
      timeout: false, // Bun aborts after five silent minutes; the watch decides here
    }
    try {
      return await this.#fetch(this.#root + path, asked)
    } catch (error) {
      throw connectionFailure(error, signal)
    }
  }
}

/** Whether and why a request was aborted. */
export type AbortState = Pick<AbortSignal, 'aborted' | 'reason'>

const eitherOf = (first: AbortSignal, second: AbortSignal): AbortState => ({
  get aborted() {
    return first.aborted || second.aborted
  },
  get reason() {
    return first.aborted ? first.reason : second.reason
  },
})

export type OpenRequest = {
  readonly response: ServerAnswer
  readonly signal: AbortState
  /** Signals that something arrived, which resets the silence. */
  readonly heard: () => void
  readonly close: () => void
}

/** What a broken or cut connection means; never the error itself, which may contain addresses. */
export function connectionFailure(error: unknown, signal: AbortState): EngineError {
  if (error instanceof EngineError) return error
  if (signal.aborted && signal.reason instanceof EngineError) return signal.reason
  if (signal.aborted) {
    const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
    return isTimeout
      ? new EngineError('engine_unavailable', 'the model server does not answer in time')
      : new EngineError('aborted', 'the request was aborted')
  }
  return new EngineError('engine_unavailable', 'the model server cannot be reached', {
    retryAfterSeconds: 2,
  })
}

async function requireObject(response: ServerAnswer, signal: AbortState): Promise<JsonObject> {
  const object = await readObject(response, signal)
  if (object !== undefined) return object
  throw new EngineError('engine_failed', 'the model server did not send JSON')
}

async function readObject(
  response: ServerAnswer,
  signal: AbortState,
): Promise<JsonObject | undefined> {
  try {
    const json: unknown = await response.json()
    return typeof json === 'object' && json !== null ? (json as JsonObject) : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw connectionFailure(error, signal)
  }
}

async function failureOf(response: ServerAnswer, asked: JsonObject): Promise<EngineError> {
  let body: unknown
  try {
    body = JSON.parse((await response.text()).slice(0, maxErrorBytes))
  } catch {
    body = undefined // only the status is left to go by
  }
  const failure = toEngineError(response.status, body, Object.keys(asked))
  if (failure.code !== 'engine_failed') return failure
  // vLLM 0.27 answers messages whose `max_tokens` exceeds the context with a status of 500.
  return new EngineError(failure.code, failure.message, { isEarly: true })
}

/** One slow timer that cuts a request that has been silent for too long. */
class SilenceWatch {
  readonly #timer: ReturnType<typeof setInterval>
  #ticks = 0

  constructor(silenceMs: number, cut: AbortController) {
    this.#timer = setInterval(() => {
      if (++this.#ticks < 4) return
      const seconds = Math.round(silenceMs / 1000)
      const message = `the model server was silent for ${seconds} seconds`
      cut.abort(new EngineError('engine_failed', message))
      this.stop()
    }, silenceMs / 4)
  }

  heard(): void {
    this.#ticks = 0
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
