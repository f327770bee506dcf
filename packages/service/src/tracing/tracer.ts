/**
 * Sends spans to an OpenTelemetry collector (OTLP over HTTP, JSON).
 *
 * A request never waits for it: spans enter a bounded queue, leave it in batches, and are dropped
 * and counted if the collector does not keep up.
 */
import type { OutboundFetch } from '../outbound.ts'
import { parseTraceparent, type TraceContext } from './trace-context.ts'
import { formatTraceFields, type TraceFieldValues } from './trace-fields.ts'
import type { TraceSettings } from './trace-settings.ts'

export type TracerOptions = {
  readonly settings: TraceSettings
  readonly fetch: OutboundFetch
  /** Called with the number of spans that will never arrive. */
  readonly onDropped: (count: number) => void
  readonly queueSpans?: number
  readonly everyMs?: number
}

/** A span in progress; `parentId` is the caller's. */
export type OpenSpan = TraceContext & {
  readonly parentId: string | undefined
  readonly startedAtMs: number
}

export type SpanEnd = {
  /** A constant, such as the name of a route. */
  readonly name: string
  readonly failed: boolean
  readonly fields: TraceFieldValues
}

type Waiting = { readonly span: OpenSpan; readonly end: SpanEnd; readonly endedAtMs: number }

const batchSpans = 256
const sendTimeoutMs = 10_000
const closeTimeoutMs = 2_000
const kindServer = 2
const statusError = 2

export class Tracer {
  readonly #options: TracerOptions
  readonly #timer: ReturnType<typeof setInterval>
  #queue: Waiting[] = []
  #sending: Promise<void> | undefined

  constructor(options: TracerOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#send(), options.everyMs ?? 5_000)
  }

  /** Starts a span, as a child of the caller's if there is one. */
  begin(traceparent: string | undefined): OpenSpan {
    const parent = parseTraceparent(traceparent)
    const traceId = parent?.traceId ?? randomHex(16)
    const { ratio, followsParent } = this.#options.settings.sampling
    return {
      traceId,
      spanId: randomHex(8),
      parentId: parent?.spanId,
      sampled: parent !== undefined && followsParent ? parent.sampled : isWithin(traceId, ratio),
      startedAtMs: Date.now(),
    }
  }

  end(span: OpenSpan, end: SpanEnd): void {
    if (!span.sampled) return
    if (this.#queue.length >= (this.#options.queueSpans ?? 2_048)) {
      this.#options.onDropped(1)
      return
    }
    this.#queue.push({ span, end, endedAtMs: Date.now() })
    if (this.#queue.length >= batchSpans) void this.#send()
  }

  /** Sends the remaining spans, for a short time. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    const late = new Promise<void>((resolve) => setTimeout(resolve, closeTimeoutMs).unref())
    await Promise.race([this.#send().then(() => this.#send()), late])
    if (this.#queue.length > 0) this.#options.onDropped(this.#queue.length)
    this.#queue = []
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchSpans)
      if (!(await this.#post(batch))) this.#options.onDropped(batch.length)
    }
  }

  async #post(batch: readonly Waiting[]): Promise<boolean> {
    const { settings, fetch } = this.#options
    const headers = new Headers({ 'content-type': 'application/json' })
    for (const [name, value] of settings.headers) headers.set(name, value.reveal())
    try {
      const response = await fetch(settings.url, {
        method: 'POST',
        headers,
        body: JSON.stringify(formatBatch(settings.serviceName, batch)),
        signal: AbortSignal.timeout(sendTimeoutMs),
      })
      await response.body?.cancel()
      return response.ok
    } catch {
      return false // drops are counted; not each failure is logged
    }
  }
}

function formatBatch(serviceName: string, batch: readonly Waiting[]) {
  const service = { key: 'service.name', value: { stringValue: serviceName } }
  return {
    resourceSpans: [
      {
        resource: { attributes: [service] },
        scopeSpans: [{ scope: { name: 'privatemode' }, spans: batch.map(formatSpan) }],
      },
    ],
  }
}

function formatSpan({ span, end, endedAtMs }: Waiting) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentId === undefined ? {} : { parentSpanId: span.parentId }),
    name: end.name,
    kind: kindServer,
    startTimeUnixNano: `${span.startedAtMs}000000`,
    endTimeUnixNano: `${endedAtMs}000000`,
    attributes: formatTraceFields(end.fields),
    ...(end.failed ? { status: { code: statusError } } : {}),
  }
}

/** The same decision for a trace everywhere (TraceIdRatioBased of the SDK specification). */
function isWithin(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-8), 16) < ratio * 2 ** 32
}

function randomHex(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex')
}
