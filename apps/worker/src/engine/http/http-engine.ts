/** An engine that is an OpenAI-compatible model server: vLLM, SGLang, llama-server, Ollama, others. */
import {
  type Engine,
  type EngineAnswer,
  type EngineCall,
  type EngineEndpoint,
  EngineError,
  type EngineModel,
  type JsonObject,
} from '../engine.ts'
import { requireIsolation } from './cache-isolation.ts'
import { countTokens } from './count-tokens.ts'
import { type Discovery, discover } from './discover.ts'
import { defaultHttpSettings, type HttpEngineSettings } from './http-settings.ts'
import { readStream, readUsage, renameFields } from './read-stream.ts'
import {
  connectionFailure,
  type OpenRequest,
  ServerClient,
  type ServerFetch,
} from './server-client.ts'
import { serverBody, serverTraits } from './server-kinds.ts'

export type HttpEngineParts = {
  readonly fetch: ServerFetch
  readonly now: () => Date
  /** Told when the server goes away or comes back, in words for the log. */
  readonly onHealth?: (isHealthy: boolean, detail: string) => void
}

type GivenSettings = Pick<HttpEngineSettings, 'baseUrl'> & Partial<HttpEngineSettings>

const paths: Readonly<Record<EngineEndpoint, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
}

/** Connects to a server, or throws an EngineError that says why it cannot be used. */
export async function connectHttpEngine(
  given: GivenSettings,
  parts: HttpEngineParts = { fetch, now: () => new Date() },
): Promise<Engine> {
  const settings: HttpEngineSettings = { ...defaultHttpSettings, ...given }
  const client = new ServerClient(settings, parts.fetch)
  const found = await inspect(client, settings, parts.now)
  return new HttpEngine(settings, parts, client, found)
}

/** Everything that must be true of a server before it gets a prompt, also after it was away. */
async function inspect(
  client: ServerClient,
  settings: HttpEngineSettings,
  now: () => Date,
): Promise<Discovery> {
  const found = await discover(client, settings, now)
  await requireIsolation(client, found, settings.acceptSharedCache)
  return found
}

class HttpEngine implements Engine {
  readonly #settings: HttpEngineSettings
  readonly #parts: HttpEngineParts
  readonly #client: ServerClient
  readonly #timer: ReturnType<typeof setInterval>
  #found: Discovery
  #isHealthy = true
  #isLooking = false
  #isClosed = false

  constructor(
    settings: HttpEngineSettings,
    parts: HttpEngineParts,
    client: ServerClient,
    found: Discovery,
  ) {
    this.#settings = settings
    this.#parts = parts
    this.#client = client
    this.#found = found
    this.#timer = setInterval(() => void this.#look(), settings.healthIntervalMs)
  }

  get name(): string {
    return `http ${this.#found.kind}${this.#found.version ? ` ${this.#found.version}` : ''}`
  }

  models(): readonly EngineModel[] {
    return this.#found.models
  }

  async call(call: EngineCall): Promise<EngineAnswer> {
    this.#requireHealthy()
    const path = paths[call.endpoint]
    const body = serverBody(this.#found.kind, call)
    if (!call.stream) return { kind: 'complete', body: await this.#complete(path, body, call) }
    const request = await this.#client.open(path, body, call.signal)
    return { kind: 'stream', chunks: readStream(request, call) }
  }

  countTokens(body: JsonObject): Promise<number> {
    this.#requireHealthy()
    const signal = AbortSignal.timeout(this.#settings.probeTimeoutMs)
    return countTokens(this.#client, this.#found.kind, body, signal)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
  }

  async #complete(path: string, body: JsonObject, call: EngineCall): Promise<JsonObject> {
    let request: OpenRequest | undefined
    try {
      request = await this.#client.open(path, body, call.signal)
      const answer = renameFields((await request.response.json()) as JsonObject)
      const usage = readUsage(answer.usage)
      if (usage !== undefined) call.onUsage?.(usage)
      return answer
    } catch (error) {
      const failure = connectionFailure(error, request?.signal ?? call.signal)
      if (failure.code === 'aborted') await this.#countGivenUp(call)
      throw failure
    } finally {
      request?.close()
    }
  }

  /** An answer that was given up whole has told no counts; its prompt was read all the same. */
  async #countGivenUp(call: EngineCall): Promise<void> {
    if (call.endpoint !== 'chat') return
    try {
      const promptTokens = await this.countTokens(call.body)
      call.onUsage?.({ promptTokens, cachedTokens: 0, completionTokens: 0 })
    } catch {
      // The server may be gone as well, and then there is nobody to count.
    }
  }

  #requireHealthy(): void {
    if (this.#isClosed) throw new EngineError('engine_unavailable', 'the engine was closed')
    if (!this.#isHealthy) {
      const message = 'the model server is away or is being inspected'
      throw new EngineError('engine_unavailable', message, { retryAfterSeconds: 2 })
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    try {
      const isUp = await this.#client.isUp(serverTraits[this.#found.kind].healthPath)
      if (isUp && !this.#isHealthy) {
        // It may have come back as another version or with other models.
        this.#found = await inspect(this.#client, this.#settings, this.#parts.now)
      }
      this.#tell(isUp, isUp ? this.name : 'no good answer to the health question')
    } catch (error) {
      this.#tell(false, error instanceof EngineError ? error.message : 'health question failed')
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
