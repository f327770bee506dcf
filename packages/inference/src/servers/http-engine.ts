/** An engine backed by an OpenAI-compatible model server: vLLM, SGLang, llama-server, Ollama, others. */
import {
  type CountedEndpoint,
  type Engine,
  type EngineAnswer,
  type EngineCall,
  type EngineEndpoint,
  EngineError,
  type EngineModel,
  type EngineUsage,
  type JsonObject,
  type NativeEndpoint,
  type PathIsolation,
} from '../engine.ts'
import type { readVerityRoot } from '../verity-root.ts'
import { assembleAnswer, isAssembled } from './assemble-answer.ts'
import { assembleNative } from './assemble-message.ts'
import { requireIsolation } from './cache-isolation.ts'
import { countLongest, countPrompt } from './count-prompt.ts'
import { countMessage, countTokens } from './count-tokens.ts'
import { CountedCall } from './counted-call.ts'
import { type Discovery, discover } from './discover.ts'
import { findNative } from './find-native.ts'
import { defaultHttpSettings, type HttpEngineSettings, type ServerKind } from './http-settings.ts'
import { withNamedImages } from './image-names.ts'
import { type NamedCall, nameCall } from './named-call.ts'
import { isNative, nativePaths, readNativeUsage, requireWhole } from './native-endpoints.ts'
import { ServerStream } from './read-stream.ts'
import { renameFields } from './rename-fields.ts'
import { requireVolumes } from './served-models.ts'
import {
  connectionFailure,
  type OpenRequest,
  ServerClient,
  type ServerFetch,
} from './server-client.ts'
import { serverBody, serverTraits } from './server-kinds.ts'
import { withServerSalt } from './server-salt.ts'
import { settleCounts } from './settle-counts.ts'
import { countChoices } from './several-choices.ts'
import { createSocketFetch, type SocketFetch } from './socket-fetch.ts'
import { readUsage } from './stream-counts.ts'

export type HttpEngineParts = {
  /** Replaces the default fetch. */
  readonly fetch?: ServerFetch
  readonly now: () => Date
  /** Replaces what the kernel reports about the volume of a file. */
  readonly readRoot?: typeof readVerityRoot
  /** Called when the server becomes unavailable or available again, with a reason for the log. */
  readonly onHealth?: (isHealthy: boolean, detail: string) => void
  /** Called at startup with each new reason why the server is not ready. */
  readonly onWaiting?: (detail: string) => void
  /** Called at startup, and again when the server was inspected after an outage. */
  readonly onInspected?: (isolation: readonly PathIsolation[]) => void
}

type GivenSettings = Pick<HttpEngineSettings, 'baseUrl'> & Partial<HttpEngineSettings>

const paths: Readonly<Record<EngineEndpoint, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  ...nativePaths,
}

/** Reading an answer in few large pieces costs a fraction, and its end ends the wait. */
const gatherMs = 100

/** Connects to a server, or throws an EngineError with the reason why it cannot be used. */
export async function connectHttpEngine(
  given: GivenSettings,
  parts: HttpEngineParts = { now: () => new Date() },
): Promise<Engine> {
  const settings: HttpEngineSettings = { ...defaultHttpSettings, ...given }
  const { protocol, href } = new URL(settings.baseUrl)
  const via = protocol === 'unix:' ? href : undefined
  const usesSockets = protocol === 'http:' || via !== undefined
  const sockets = parts.fetch === undefined && usesSockets ? createSocketFetch(via) : undefined
  const baseUrl = via === undefined ? settings.baseUrl : 'http://localhost'
  const client = new ServerClient({ ...settings, baseUrl }, parts.fetch ?? sockets?.fetch ?? fetch)
  try {
    if (settings.served !== undefined) await requireVolumes(settings.served, parts.readRoot)
    const found = await untilReady(() => inspect(client, settings, parts), settings, parts)
    return new HttpEngine(settings, parts, client, found, sockets)
  } catch (error) {
    sockets?.close()
    throw error
  }
}

const retryMs = 1000

/** A server that loads a large model is unavailable for minutes. */
async function untilReady(
  tryOnce: () => Promise<Inspected>,
  { waitMs }: HttpEngineSettings,
  { onWaiting }: HttpEngineParts,
): Promise<Inspected> {
  const deadlineMs = performance.now() + waitMs
  let told: string | undefined
  for (;;) {
    try {
      return await tryOnce()
    } catch (error) {
      const isLoading = error instanceof EngineError && error.code === 'engine_unavailable'
      if (!isLoading || performance.now() + retryMs > deadlineMs) throw error
      if (error.message !== told) onWaiting?.(error.message)
      told = error.message
    }
    await Bun.sleep(retryMs)
  }
}

type Inspected = Discovery & { readonly isolation: readonly PathIsolation[] }

/** Checks everything that a server must satisfy before it gets a prompt, also after an outage. */
async function inspect(
  client: ServerClient,
  settings: HttpEngineSettings,
  parts: HttpEngineParts,
): Promise<Inspected> {
  const found = await discover(client, settings, parts.now)
  const paths = await requireIsolation(client, found, settings.acceptSharedCache)
  const native = await findNative(client, found, settings.translateDialects)
  const isolation = [...paths, ...native]
  parts.onInspected?.(isolation)
  return { ...found, isolation }
}

/** Ollama answers 200 if its engine gives up: with what there is, no reason for the end and no count. */
function isCut({ choices }: JsonObject, usage: EngineUsage | undefined): boolean {
  if (usage?.completionTokens !== 0 || !Array.isArray(choices)) return false
  return choices.some((choice: JsonObject | null) => choice?.finish_reason === null)
}

/** In a stream few, so that the first of them are written before the last are read. */
function mostJoined({ isJoined }: EngineCall, isWhole: boolean): number {
  if (isWhole) return 1024
  return isJoined === true ? 64 : 1
}

/** What a server gets instead of the caller's salt and of nameless images. */
function forServer(kind: ServerKind, given: JsonObject): JsonObject {
  const body = withServerSalt(given)
  return kind === 'vllm' ? withNamedImages(body) : body
}

class HttpEngine implements Engine {
  readonly #settings: HttpEngineSettings
  readonly #parts: HttpEngineParts
  readonly #client: ServerClient
  readonly #sockets: SocketFetch | undefined
  readonly #timer: ReturnType<typeof setInterval>
  #found: Inspected
  #isHealthy = true
  #isLooking = false
  #isClosed = false

  constructor(
    settings: HttpEngineSettings,
    parts: HttpEngineParts,
    client: ServerClient,
    found: Inspected,
    sockets: SocketFetch | undefined,
  ) {
    this.#settings = settings
    this.#parts = parts
    this.#client = client
    this.#found = found
    this.#sockets = sockets
    this.#timer = setInterval(() => void this.#look(), settings.healthIntervalMs)
  }

  get name(): string {
    return `http ${this.#found.kind}${this.#found.version ? ` ${this.#found.version}` : ''}`
  }

  get takesLongTexts(): boolean {
    return this.#sockets !== undefined
  }

  models(): readonly EngineModel[] {
    return this.#found.models
  }

  async call(given: EngineCall): Promise<EngineAnswer> {
    this.#requireHealthy()
    if (given.signal.aborted) throw new EngineError('aborted', 'the request was aborted')
    this.#requireUsed(given.endpoint, given.body.model)
    const { kind } = this.#found
    // Both forms of a request: either may be sent to the server.
    const asChat = given.asChat && forServer(kind, given.asChat)
    const call = { ...given, body: forServer(kind, given.body), asChat }
    const watched = new CountedCall(call, (call, isAborted) => this.#countPrompt(call, isAborted))
    try {
      if (given.stream) return { kind: 'stream', chunks: await this.#stream(watched) }
      return { kind: 'complete', body: await this.#whole(watched) }
    } catch (error) {
      throw await watched.failed(error)
    }
  }

  speaks(endpoint: NativeEndpoint, modelId: string): boolean {
    return this.#isUsed(endpoint, modelId)
  }

  isolation(): readonly PathIsolation[] {
    return this.#found.isolation
  }

  countTokens(
    given: JsonObject,
    endpoint: CountedEndpoint = 'chat',
    by?: Pick<EngineCall, 'signal'>,
  ): Promise<number> {
    this.#requireHealthy()
    this.#requireUsed(endpoint, given.model)
    const body = forServer(this.#found.kind, given)
    const late = AbortSignal.timeout(this.#settings.probeTimeoutMs)
    const signal = by === undefined ? late : AbortSignal.any([late, by.signal])
    if (endpoint === 'messages') return countMessage(this.#client, body, signal)
    if (endpoint === 'completions')
      return countLongest(this.#client, this.#found.kind, body, signal)
    return countTokens(this.#client, this.#found.kind, body, signal)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#sockets?.close()
  }

  get #countsAsItGoes(): boolean {
    return serverTraits[this.#found.kind].counts !== 'at-end'
  }

  async #stream(watched: CountedCall, isWhole = false): Promise<ServerStream> {
    const { call } = watched
    const { kind } = this.#found
    const { fields, abort } = nameCall(this.#client, kind, call)
    const body = { ...serverBody(kind, { ...call, stream: true }), ...fields }
    const opening = this.#open(call, body, abort, 'read')
    // After the request was written, for the same reason as in `open`.
    if (call.stream && this.#countsAsItGoes) watched.countAfter(this.#settings.countWaitingMs)
    const request = await opening
    return new ServerStream(request, call, {
      isPerChoice: this.#countsAsItGoes,
      mostJoined: mostJoined(call, isWhole),
      ...(isWhole ? { gatherMs } : {}),
      onFailure: async (failure) => void (await watched.failed(failure)),
      onEnd: () => watched.end(),
      restMs: this.#settings.restMs,
      settle: (open) => settleCounts(this.#client, kind, call, open, this.#settings.settleMs),
      abort,
    })
  }

  async #open(
    { endpoint, signal }: EngineCall,
    body: JsonObject,
    abort: NamedCall['abort'],
    use: 'read' | 'whole',
  ): Promise<OpenRequest> {
    try {
      return await this.#client.open(paths[endpoint], body, signal, use)
    } catch (error) {
      if (signal.aborted) void abort?.()
      throw error
    }
  }

  /** Requested as a stream if that loses nothing: what was generated is then known if the call is aborted. */
  async #whole(watched: CountedCall): Promise<JsonObject> {
    const { call } = watched
    if (!this.#countsAsItGoes || !isAssembled(this.#found.kind, call))
      return this.#wholeAtOnce(call)
    const chunks = await this.#stream(watched, true)
    return isNative(call.endpoint) ? assembleNative(call.endpoint, chunks) : assembleAnswer(chunks)
  }

  async #wholeAtOnce(call: EngineCall): Promise<JsonObject> {
    const { endpoint } = call
    const { fields, abort } = nameCall(this.#client, this.#found.kind, call)
    const body = { ...serverBody(this.#found.kind, call), ...fields }
    const request = await this.#open(call, body, abort, 'whole')
    try {
      const answer = renameFields((await request.response.json()) as JsonObject)
      const usage = isNative(endpoint) ? readNativeUsage(endpoint, answer) : readUsage(answer.usage)
      if (isCut(answer, usage))
        throw new EngineError('engine_failed', 'the model server ended before its answer did')
      if (usage !== undefined) call.onUsage?.(await this.#ofAllChoices(call, answer, usage))
      return isNative(endpoint) ? requireWhole(endpoint, answer) : answer
    } catch (error) {
      throw connectionFailure(error, request.signal)
    } finally {
      request.close()
    }
  }

  #ofAllChoices(call: EngineCall, answer: JsonObject, usage: EngineUsage): Promise<EngineUsage> {
    const { kind } = this.#found
    return countChoices(this.#client, kind, call, answer, usage, this.#settings.settleMs)
  }

  #countPrompt(call: EngineCall, isAborted: boolean): Promise<number | undefined> {
    const signal = AbortSignal.timeout(this.#settings.probeTimeoutMs)
    return countPrompt(this.#client, this.#found.kind, call, signal, isAborted)
  }

  #requireHealthy(): void {
    if (this.#isClosed) throw new EngineError('engine_unavailable', 'the engine was closed')
    if (!this.#isHealthy) {
      const message = 'the model server is unreachable or is being inspected'
      throw new EngineError('engine_unavailable', message, { retryAfterSeconds: 2 })
    }
  }

  #isUsed(endpoint: EngineEndpoint, model: unknown): boolean {
    const path = this.#found.isolation.find(
      (one) => one.endpoint === endpoint && one.model === model,
    )
    return path !== undefined && path.state !== 'unused'
  }

  #requireUsed(endpoint: EngineEndpoint, model: unknown): void {
    if (this.#isUsed(endpoint, model)) return
    const message = `this model is not served at ${paths[endpoint]}: its prompt cache is not proven to isolate callers there`
    throw new EngineError('unsupported_value', message)
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    try {
      const isUp = await this.#client.isUp(serverTraits[this.#found.kind].healthPath)
      if (isUp && !this.#isHealthy) {
        // It may have come back with another version or other models.
        this.#found = await inspect(this.#client, this.#settings, this.#parts)
      }
      this.#tell(isUp, isUp ? this.name : 'the health check failed')
    } catch (error) {
      this.#tell(
        false,
        error instanceof EngineError ? error.message : 'the health check could not be completed',
      )
    } finally {
      this.#isLooking = false
    }
  }

  #tell(isHealthy: boolean, detail: string): void {
    if (isHealthy === this.#isHealthy || this.#isClosed) return
    this.#isHealthy = isHealthy
    this.#parts.onHealth?.(isHealthy, detail)
  }
}
