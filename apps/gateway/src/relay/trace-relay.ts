/** Spans of relayed and refused requests: names, codes and sizes, never content. */
import { ApiError } from '@privatemode/protocol/api'
import { fleetPaths } from '@privatemode/protocol/fleet'
import { formatTraceparent, type OpenSpan, type Tracer } from '@privatemode/service'
import type { Relayed } from './relayed.ts'

const spanName = `POST ${fleetPaths.sealed}`

/** A header line for the worker. A caller's own is never passed on: without tracing there is none. */
export function traceLine(span: OpenSpan | undefined): string {
  return span === undefined ? '' : `traceparent: ${formatTraceparent(span)}\r\n`
}

export function traceRelayed(tracer: Tracer, span: OpenSpan, relayed: Relayed): void {
  const { sealed, worker, outcome, attempts, bytesOut, firstByteMs } = relayed
  tracer.end(span, {
    name: spanName,
    failed: outcome === 'broken',
    fields: {
      method: 'POST',
      route: sealed.path,
      status: 200,
      // The registry knows this name: a client cannot choose what stands here.
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

/** Of what was refused only our own code is told; without an error the client went away. */
export function traceRefused(tracer: Tracer, span: OpenSpan, error: unknown): void {
  const shown = error instanceof ApiError ? error : undefined
  const fields =
    error === undefined
      ? { method: 'POST', outcome: 'aborted' }
      : { method: 'POST', status: shown?.status ?? 500, code: shown?.code ?? 'internal_error' }
  tracer.end(span, { name: spanName, failed: (shown?.status ?? 0) >= 500, fields })
}
