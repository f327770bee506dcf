/** What the relay works with. */
import type { HttpExchange, UpstreamPool } from '@privatemode/http'
import type { Log, Tracer } from '@privatemode/service'
import type { KeyCheck } from '../keys/key-check.ts'
import type { FairShare } from '../limits/fair-share.ts'
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
  /** What each key holds in this gateway. */
  readonly shares: FairShare
  readonly admissions: Admissions
  readonly expected: ExpectedUsage
  readonly metrics: GatewayMetrics
  readonly log: Log
  /** Undefined traces nothing. */
  readonly tracer: Tracer | undefined
  /** Whether a line is written for each request; else it is not even made. */
  readonly logsRequests: boolean
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly random: () => number
  readonly limits: RelayLimits
}

export type RelayLimits = {
  readonly firstByteTimeoutMs: number
  readonly attempts: number
  /** Requests in this gateway at once. */
  readonly requests: number
  /** What one key can hold of a worker and of this gateway. */
  readonly keySharePercent: number
}

/** Called once: without an error when the exchange is over, else with what to answer. */
export type RelayDone = (exchange: HttpExchange, error: unknown) => void
