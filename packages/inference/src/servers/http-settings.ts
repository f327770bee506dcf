/** What an operator configures about an external model server. */
import type { EngineModel } from '../engine.ts'

export type ServerKind = 'vllm' | 'sglang' | 'llama-server' | 'ollama' | 'generic'

/** Facts about a model that a server does not report, or reports wrongly. */
export type ModelOverride = Partial<
  Pick<EngineModel, 'tasks' | 'contextLength' | 'displayName' | 'vision' | 'digest'>
>

/** A model whose weights are on a verity volume. */
export type ServedModel = {
  readonly id: string
  /** A file or folder on the volume. */
  readonly path: string
  /** Lower-case hex; required. */
  readonly verityRoot?: string
  readonly displayName?: string
  readonly contextLength?: number
}

export type HttpEngineSettings = {
  /** Address of the server, with or without the `/v1` of its API, or `unix:/path` of its socket. */
  readonly baseUrl: string
  readonly apiKey?: { reveal(): string } | undefined
  /**
   * States that callers may share the server's prefix cache, or that it has none. Without it, a
   * server that cannot isolate salts is refused.
   */
  readonly acceptSharedCache: boolean
  /** Translates messages and responses even if the server answers them natively. */
  readonly translateDialects: boolean
  /** Facts by model id. */
  readonly models: Readonly<Record<string, ModelOverride>>
  /** If set, all models that the server may have; each is stated with the root hash of its volume. */
  readonly served?: readonly ServedModel[] | undefined
  /** How long a server may be unavailable at startup, while it loads its model. */
  readonly waitMs: number
  /** Concurrent requests to the server; further ones get a retry time. */
  readonly maxConcurrent: number
  readonly healthIntervalMs: number
  /** How long requests about the server itself may take. */
  readonly probeTimeoutMs: number
  /**
   * How long a stream waits for its first count before its prompt is counted separately. It is less
   * than the time after which a stream is answered without a first token.
   */
  readonly countWaitingMs: number
  /** How long a server may continue an aborted call before the connection is cut. */
  readonly restMs: number
  /** How long the record of an aborted call then waits for its counts. */
  readonly settleMs: number
  /** How long a running request may be silent before it is considered dead. */
  readonly silenceMs: number
}

export const defaultHttpSettings = {
  acceptSharedCache: false,
  translateDialects: false,
  models: {},
  waitMs: 0,
  maxConcurrent: 256,
  healthIntervalMs: 5_000,
  probeTimeoutMs: 20_000,
  countWaitingMs: 5_000,
  restMs: 5_000,
  settleMs: 5_000,
  silenceMs: 600_000,
} as const satisfies Omit<HttpEngineSettings, 'baseUrl'>
