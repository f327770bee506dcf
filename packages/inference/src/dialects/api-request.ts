/** What goes into the API core and what comes out; sealing and receipts are around it. */
import type { Dialect } from '@privatemode/protocol/api'
import type { Engine, EngineModel, JsonObject } from '../engine.ts'
import type { Usage, UsageMeter } from './usage-meter.ts'

export type ApiRequest = {
  /** The path without or with its query, which is not looked at. */
  readonly path: string
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  /** The client's own default; a `cache_salt` in the body wins over it. */
  readonly defaultCacheSalt: string | undefined
  /** Shown in headers and error bodies; a random one is made where there is none. */
  readonly requestId?: string | undefined
  /**
   * The model the sealed envelope is bound to, which is what the gateway meters. A body that names
   * another one is refused.
   */
  readonly boundModel?: string | undefined
}

export type ApiAnswer = {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
  /** Read at the end; true also after an abort or a failure. */
  readonly usage: () => Usage
  /** After an abort: resolves when the counts are final; undefined where they are. */
  readonly settling?: () => Promise<void> | undefined
  /** Read at the end: a body that was not read to its good end is aborted or failed. */
  readonly outcome: () => Outcome
}

export type Outcome = 'complete' | 'aborted' | 'failed'

export type ApiTimes = {
  /** A stream is never silent for longer than this. */
  readonly keepAliveMs: number
  /**
   * How long a stream waits for its first chunk before it answers 200: until then an engine's
   * refusal still becomes a status. It counts as silence, so it is below `keepAliveMs`.
   */
  readonly commitMs: number
}

export const defaultTimes: ApiTimes = { keepAliveMs: 15_000, commitMs: 10_000 }

/** Everything one request needs while it is answered. */
export type Exchange = {
  readonly dialect: Dialect
  readonly requestId: string
  readonly body: JsonObject
  readonly stream: boolean
  readonly engine: Engine
  readonly model: EngineModel
  readonly cacheSalt: string
  /** False where the salt was made for this request alone. */
  readonly keepPrefix: boolean
  readonly signal: AbortSignal
  readonly meter: UsageMeter
  readonly times: ApiTimes
  /** Headers that every answer of this exchange carries. */
  readonly headers: Record<string, string>
}
