/** Tells log, metrics and metering of a request that was relayed. */
import { admittedAtMs } from '../metering/admissions.ts'
import type { RelayParts } from './relay-parts.ts'
import type { Relayed } from './relayed.ts'
import { traceRelayed } from './trace-relay.ts'

export function reportRelayed(parts: RelayParts, relayed: Relayed): void {
  const { sealed, caller, worker, outcome, bytesOut, attempts } = relayed
  const elapsedMs = Math.round(relayed.elapsedMs)
  // Until the worker has reported, all that is known of the cost is that there was a request.
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
