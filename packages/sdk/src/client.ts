/** The client: verifies workers, seals calls to them, opens their answers. */
import type { AttestedWorker, ModelListing } from '@privatemode/attestation'
import { ApiError, latestModelName, resolveLatest } from '@privatemode/protocol/api'
import {
  andThen,
  type Bytes,
  beginRequest,
  type Eventually,
  finishRequest,
  formatHex,
  type RequestHead,
  type Session,
} from '@privatemode/protocol/envelope'
import { sealedHeaders, sealedMediaType } from '@privatemode/protocol/fleet'
import { Answer } from './answer.ts'
import { AnswerTimeout, within } from './answer-timeout.ts'
import { Backend, readAnswer } from './backend.ts'
import { readWhole, streamSource, wholeSource } from './byte-source.ts'
import { chooseCandidates } from './candidates.ts'
import { ManifestKeeper } from './manifest-keeper.ts'
import { type ClientOptions, defaultTimeouts } from './options.ts'
import { type Call, isSealedAnswer, type SealedCall, SealedExchange } from './sealed-exchange.ts'
import { Sessions } from './sessions.ts'
import { unlessAborted } from './unless-aborted.ts'
import { formatVerification, type Verification } from './verification.ts'
import { VerifiedWorkers } from './verified-workers.ts'

const maxErrorBytes = 64 * 1024
/** Clients leave at the last event; the end may arrive this much later without being cut off. */
const lingerMs = 250

/** The lower-level client: verifies workers, seals calls to them and opens their answers. */
export class PrivateClient {
  readonly #options: ClientOptions
  readonly #backend: Backend
  readonly #manifest: ManifestKeeper
  readonly #workers: VerifiedWorkers
  readonly #sessions: Sessions

  constructor(options: ClientOptions) {
    this.#options = options
    this.#backend = new Backend(options.endpoint, options.fetch)
    this.#sessions = new Sessions(options.crypto.random)
    this.#manifest = new ManifestKeeper(options.manifestSource, options.now, options.onEvent)
    this.#workers = new VerifiedWorkers(options, this.#backend, this.#manifest)
  }

  get endpoint(): string {
    return this.#backend.endpoint
  }

  /** Fetches and checks the manifest; workers are verified with the first API key. */
  async loadManifest(): Promise<void> {
    await this.#manifest.getCurrent()
  }

  /** Resolves once at least one worker is verified; otherwise throws the reason. */
  async ready(apiKey: string): Promise<void> {
    await this.#workers.refresh(apiKey)
    if (this.#workers.all.length > 0) return
    const refused = this.#workers.refused[0]?.error
    throw refused ?? new ApiError('no_worker', 'the backend currently lists no workers')
  }

  /** The models that the manifest lists and the backend serves. */
  models(apiKey: string): Promise<readonly ModelListing[]> {
    return this.#workers.models(apiKey)
  }

  verification(): Verification {
    return formatVerification(this.#manifest, this.#workers)
  }

  /** Seals one call; synchronous if sessions are warm and the provider is native. */
  prepare(call: Call): Eventually<SealedCall> {
    if (call.model !== latestModelName) return this.#prepareNamed(call)
    return this.#routeLatest(call).then((routed) => this.#prepareNamed(routed))
  }

  #prepareNamed(asked: Call): Eventually<SealedCall> {
    const call = this.#named(asked)
    const workers = this.#workers.serving(call.model)
    if (workers.length === 0) return this.#prepareCold(asked)
    this.#workers.touch(call.apiKey)
    return this.#seal(call, this.#workers.preferred(workers))
  }

  /** Starts a call for a custom driver; `waitsForBackend` is explained in {@link RetryPolicy}. */
  begin(call: Call, waitsForBackend = false): SealedExchange {
    return new SealedExchange(this, call, {
      budgetMs: this.#options.retryBudgetMs,
      waitsForBackend,
    })
  }

  /**
   * Makes one call over `fetch`. It is retried, on other workers if there are any, only while no
   * byte of an answer has arrived, only for failures that a retry can fix, and within the time
   * budget.
   */
  async exchange(call: Call, signal?: AbortSignal): Promise<Answer> {
    signal?.throwIfAborted()
    const exchange = this.begin(call)
    for (;;) {
      try {
        return await this.#attempt(exchange, call.stream, signal)
      } catch (error) {
        signal?.throwIfAborted()
        const pauseMs = exchange.pauseAfter(error)
        if (pauseMs === undefined) throw error
        if (pauseMs > 0) await unlessAborted(sleep(pauseMs), signal)
      }
    }
  }

  /** `latest` is deprecated and names no model: the call goes to the newest model of its task. */
  async #routeLatest(call: Call): Promise<Call> {
    const models = await this.#workers.models(call.apiKey)
    if (models.some(({ id }) => id === latestModelName)) return call
    const newest = resolveLatest(models, call.path === '/v1/embeddings' ? 'embed' : 'generate')
    return newest === undefined ? call : { ...call, model: newest.id }
  }

  /**
   * Records why a sealed call was refused: workers with unknown keys are verified again, and
   * unreachable ones are avoided for a while.
   */
  noteRefusal(sealed: SealedCall, error: ApiError): void {
    if (error.code === 'unknown_key' || error.code === 'worker_unknown') {
      this.#workers.forget(sealed.workers.map(({ workerId }) => workerId))
    } else if (error.code === 'worker_unreachable') {
      this.#workers.suspect(sealed.workers.map(({ workerId }) => workerId))
    }
  }

  async #attempt(
    exchange: SealedExchange,
    stream: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const prepared = exchange.prepare()
    const sealed = prepared instanceof Promise ? await unlessAborted(prepared, signal) : prepared
    const body = await finishRequest(sealed.request)
    signal?.throwIfAborted()
    const sending = new AbortController()
    try {
      const sent = this.#send(exchange, sealed, body, stream, sending.signal)
      const answer = await unlessAborted(sent, signal)
      // From here on an abort must not cut off padding: the answer decides when to stop.
      if (signal !== undefined) answer.follow(signal)
      return answer
    } catch (error) {
      sending.abort() // closes the connection of a request that was given up
      throw error
    }
  }

  /** Sends a sealed call; returns its answer once that has started. */
  async #send(
    exchange: SealedExchange,
    sealed: SealedCall,
    body: Bytes,
    stream: boolean,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { maxAnswerBytes: maxBytes, shape, timeouts = defaultTimeouts } = this.#options
    const facts = { ...sealed, opener: sealed.request.opener, maxBytes }
    const sent = this.#backend.send(sealed.headers, body, signal)
    const response = await within(sent, timeouts.firstByteMs)
    const answerTimeout = new AnswerTimeout(timeouts)
    if (!isSealedAnswer(response.status, response.headers.get('content-type'))) {
      throw await readError(response, exchange, answerTimeout)
    }
    // Padding may follow a whole answer, too, and would count as a part of it.
    if (!stream && shape === 'off') {
      const bytes = await readWhole(response, maxBytes, signal, answerTimeout)
      return Answer.start(facts, wholeSource(bytes))
    }
    const bytes = response.body as ReadableStream<Bytes> | null
    return Answer.start(
      {
        ...facts,
        holdsEnding: stream && shape === 'strict',
        lingerMs: stream && shape === 'default' ? lingerMs : 0,
      },
      streamSource(bytes, signal, answerTimeout),
    )
  }

  /** The call is bound to the model's full name; the body keeps what the application wrote. */
  #named(call: Call): Call {
    const model = this.#workers.nameOf(call.model)
    return model === call.model ? call : { ...call, model }
  }

  async #prepareCold(asked: Call): Promise<SealedCall> {
    await this.#workers.require(asked.apiKey, asked.model)
    const call = this.#named(asked)
    return this.#seal(call, this.#workers.preferred(this.#workers.serving(call.model)))
  }

  #seal(call: Call, workers: readonly AttestedWorker[]): Eventually<SealedCall> {
    const { crypto, candidates } = this.#options
    const salt = call.cacheSalt ?? call.defaultSalt
    return andThen(chooseCandidates(crypto, workers, salt, candidates), (chosen) =>
      andThen(this.#sessionsWith(call.apiKey, chosen), (sessions) =>
        this.#sealTo(call, chosen, sessions),
      ),
    )
  }

  #sessionsWith(apiKey: string, workers: readonly AttestedWorker[]): Eventually<Session[]> {
    const ready: Session[] = []
    for (const worker of workers) {
      const session = this.#sessions.get(apiKey, worker)
      if (session === undefined) {
        return Promise.all(workers.map((one) => this.#sessions.establish(apiKey, one)))
      }
      ready.push(session)
    }
    return ready
  }

  #sealTo(
    call: Call,
    workers: readonly AttestedWorker[],
    sessions: readonly Session[],
  ): Eventually<SealedCall> {
    const { crypto, now, shape } = this.#options
    const requestId = crypto.random(16)
    const issuedAtMs = now().getTime()
    const context = { requestId, issuedAtMs, method: 'POST', path: call.path, model: call.model }
    // All serving workers were verified under one manifest; a newer one may have been loaded since.
    const manifestDigest = workers[0]?.manifestDigest
    const head: RequestHead = {
      headers: call.headers ?? {},
      shape,
      ...(call.defaultSalt === undefined ? {} : { cache_salt: call.defaultSalt }),
      ...(manifestDigest === undefined ? {} : { manifest_digest: manifestDigest }),
    }
    const id = formatHex(requestId)
    return andThen(beginRequest(crypto, sessions, context, head, call.body), (request) => ({
      requestId: id,
      model: call.model,
      workers,
      request,
      headers: {
        authorization: `Bearer ${call.apiKey}`,
        'content-type': sealedMediaType,
        [sealedHeaders.requestId]: id,
        [sealedHeaders.model]: call.model,
        [sealedHeaders.path]: call.path,
        [sealedHeaders.workers]: workers.map(({ workerId }) => workerId).join(','),
      },
    }))
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function readError(
  response: Response,
  exchange: SealedExchange,
  answerTimeout: AnswerTimeout,
): Promise<ApiError> {
  const body = new TextDecoder().decode(await readAnswer(response, maxErrorBytes, answerTimeout))
  return exchange.refused(response.status, body, response.headers.get('retry-after'))
}
