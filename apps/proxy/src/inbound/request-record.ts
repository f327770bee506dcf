/** What the log and the metrics record of one request: ids, sizes and times, never content. */
import type { Log } from '@privatemode/service'
import type { ProxyMetrics, RequestOutcome } from '../proxy-metrics.ts'
import type { DumpedRequest } from './dump-requests.ts'

export class RequestRecord {
  requestId: string
  /** The id that gateway and worker know, if the client was given another one. */
  sealedRequestId: string | undefined
  readonly method: string
  /** A path of the route table or one of ours; any other path is not recorded as received. */
  readonly route: string
  /** Set only once a worker has answered for it, so that clients cannot write into the log through it. */
  model: string | undefined
  status = 0
  /** Present if requests are dumped. */
  dump: DumpedRequest | undefined
  bytesIn = 0
  bytesOut = 0
  readonly startedMs = performance.now()
  #firstByteMs: number | undefined
  #closed = false

  constructor(requestId: string, method: string, route: string) {
    this.requestId = requestId
    this.method = method
    this.route = route
  }

  sent(bytes: number): void {
    this.#firstByteMs ??= performance.now() - this.startedMs
    this.bytesOut += bytes
  }

  /** Writes the request's single log line and counts it; later calls do nothing. */
  close(outcome: RequestOutcome, code: string | undefined, log: Log, metrics: ProxyMetrics): void {
    if (this.#closed) return
    this.#closed = true
    const elapsedMs = performance.now() - this.startedMs
    metrics.requestDone(this.route, this.status, outcome, elapsedMs, this.#firstByteMs)
    metrics.bytes(this.bytesIn, this.bytesOut)
    const fields = {
      requestId: this.requestId,
      sealedRequestId: this.sealedRequestId,
      method: this.method,
      route: this.route,
      model: this.model,
      status: this.status,
      outcome,
      code,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      elapsedMs: Math.round(elapsedMs * 10) / 10,
      firstByteMs:
        this.#firstByteMs === undefined ? undefined : Math.round(this.#firstByteMs * 10) / 10,
    }
    if (outcome === 'failed') log.warn('request failed', fields)
    else log.info('request', fields)
  }
}
