/** Reports a relayed or refused request to log, metrics, metering and traces: names, codes and sizes, never content. */
import type { ForwardEnd } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import { fleetPaths } from '@privatemode/protocol/fleet'
import { formatTraceparent, type OpenSpan, type Tracer } from '@privatemode/service'
import type { Caller } from '../keys/key-check.ts'
import { admittedAtMs } from '../metering/admissions.ts'
import type { LiveWorker } from '../registry/worker-store.ts'
import type { RelayParts } from './relay-parts.ts'
import type { SealedHead } from './sealed-head.ts'

/** What is known of a relayed request once its answer has ended. */
export type Relayed = {
  readonly sealed: SealedHead
  readonly caller: Caller
  readonly admissionId: string
  readonly worker: LiveWorker
  readonly span: OpenSpan | undefined
  readonly outcome: ForwardEnd
  readonly bytesOut: number
  readonly attempts: number
  readonly firstByteMs: number
  readonly elapsedMs: number
}

export function reportRelayed(parts: RelayParts, relayed: Relayed): void {
  const { sealed, caller, worker, outcome, bytesOut, attempts } = relayed
  const elapsedMs = Math.round(relayed.elapsedMs)
  // Until the worker reports, all that is known about the cost is that there was a request.
  parts.expected.expect({
    admissionId: relayed.admissionId,
    requestId: sealed.requestId,
    workerId: worker.id,
    keyId: caller.keyId,
    model: sealed.model,
    path: sealed.path,
    startedAtMs: admittedAtMs(relayed.admissionId),
    durationMs: elapsedMs,
  })
  parts.metrics.relayed(sealed.model, outcome, relayed)
  if (parts.tracer && relayed.span) traceRelayed(parts.tracer, relayed.span, relayed)
  if (!parts.logsRequests) return
  parts.log.debug('relayed', {
    requestId: sealed.requestId,
    keyRef: caller.keyId,
    model: sealed.model,
    route: sealed.path,
    worker: worker.id,
    attempts,
    outcome,
    bytesIn: sealed.lengthBytes,
    bytesOut,
    firstByteMs: Math.round(relayed.firstByteMs),
    elapsedMs,
  })
}

const spanName = `POST ${fleetPaths.sealed}`

/** The trace header for the worker. A caller's own is never forwarded: without tracing there is none. */
export function traceLine(span: OpenSpan | undefined): string {
  return span === undefined ? '' : `traceparent: ${formatTraceparent(span)}\r\n`
}

function traceRelayed(tracer: Tracer, span: OpenSpan, relayed: Relayed): void {
  const { sealed, worker, outcome, attempts, bytesOut, firstByteMs } = relayed
  tracer.end(span, {
    name: spanName,
    failed: outcome === 'broken',
    fields: {
      method: 'POST',
      route: sealed.path,
      status: 200,
      // The registry lists this name, so a client cannot put text of its own here.
      model: sealed.model,
      worker: worker.id,
      outcome,
      attempts,
      bytesIn: sealed.lengthBytes,
      bytesOut,
      firstByteMs,
    },
  })
}

/** Records only our own error code; without an error, the client disconnected. */
export function traceRefused(tracer: Tracer, span: OpenSpan, error: unknown): void {
  const shown = error instanceof ApiError ? error : undefined
  const fields =
    error === undefined
      ? { method: 'POST', outcome: 'aborted' }
      : { method: 'POST', status: shown?.status ?? 500, code: shown?.code ?? 'internal_error' }
  tracer.end(span, { name: spanName, failed: (shown?.status ?? 0) >= 500, fields })
}
