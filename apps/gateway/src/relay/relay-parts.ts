/** Dependencies of the relay. */
import type { HttpExchange, UpstreamPool } from '@privatemode/http'
import type { FairShare, Log, Tracer } from '@privatemode/service'
import type { KeyCheck } from '../keys/key-check.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Admissions } from '../metering/admissions.ts'
import type { ExpectedUsage } from '../metering/expected-usage.ts'
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts'
import type { WorkerView } from '../registry/worker-view.ts'
import type { BodyBudget } from './body-budget.ts'

export type RelayParts = {
  readonly keys: KeyCheck
  readonly view: WorkerView
  readonly bodies: BodyBudget
  readonly pool: UpstreamPool
  readonly limiter: Limiter
  /** The requests each key holds in this gateway. */
  readonly shares: FairShare
  readonly admissions: Admissions
  readonly expected: ExpectedUsage
  readonly metrics: GatewayMetrics
  readonly log: Log
  /** Undefined disables tracing. */
  readonly tracer: Tracer | undefined
  /** Whether each request is logged; otherwise its line is not even formatted. */
  readonly logsRequests: boolean
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly random: () => number
  readonly limits: RelayLimits
}

export type RelayLimits = {
  readonly firstByteTimeoutMs: number
  readonly attempts: number
  /** Concurrent requests in this gateway. */
  readonly requests: number
  /** The share of a worker and of this gateway that one key may hold. */
  readonly keySharePercent: number
}

/** Called once: without an error when the exchange is over, otherwise with the error to answer. */
export type RelayDone = (exchange: HttpExchange, error: unknown) => void
