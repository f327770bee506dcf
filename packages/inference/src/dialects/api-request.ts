/** The input and output of the API core; sealing and receipts are handled around it. */
import type { Dialect } from '@privatemode/protocol/api'
import type { Engine, EngineModel, JsonObject } from '../engine.ts'
import type { ParsedBody } from './parse-body.ts'
import type { Usage, UsageMeter } from './usage-meter.ts'

export type ApiRequest = {
  /** The path, with or without its query, which is ignored. */
  readonly path: string
  readonly body: Uint8Array | ParsedBody
  readonly headers: Readonly<Record<string, string>>
  /** The client's own default; a `cache_salt` in the body takes precedence. */
  readonly defaultCacheSalt: string | undefined
  /** Used in headers and error bodies; a random one is generated if absent. */
  readonly requestId?: string | undefined
  /**
   * The model the sealed envelope is bound to, which is what the gateway meters. A body that names
   * another one is refused.
   */
  readonly boundModel?: string | undefined
  readonly caller?: string | undefined
}

export type ApiAnswer = {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
  /** Read at the end; accurate even after an abort or a failure. */
  readonly usage: () => Usage
  /** After an abort: resolves when the counts are final; undefined if they already are. */
  readonly settling?: () => Promise<void> | undefined
  /** Read at the end: a body that was not read to its proper end counts as aborted or failed. */
  readonly outcome: () => Outcome
}

export type Outcome = 'complete' | 'aborted' | 'failed'

export type ApiTimes = {
  /** A stream is never silent for longer than this. */
  readonly keepAliveMs: number
  /**
   * How long a stream waits for its first chunk before it answers 200: until then an engine's
   * refusal can still become a status. It counts as silence, so it is below `keepAliveMs`.
   */
  readonly commitMs: number
}

export const defaultTimes: ApiTimes = { keepAliveMs: 15_000, commitMs: 10_000 }

/** Everything needed to answer one request. */
export type Exchange = {
  readonly dialect: Dialect
  readonly requestId: string
  readonly body: JsonObject
  readonly stream: boolean
  readonly engine: Engine
  readonly model: EngineModel
  readonly cacheSalt: string
  /** False if the salt was generated for this request alone. */
  readonly keepPrefix: boolean
  readonly caller: string | undefined
  readonly signal: AbortSignal
  readonly meter: UsageMeter
  readonly times: ApiTimes
  /** Headers included in every answer of this exchange. */
  readonly headers: Record<string, string>
}
