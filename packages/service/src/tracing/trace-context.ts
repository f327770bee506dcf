/** The `traceparent` header (W3C Trace Context, level 1), which identifies a span. */
export type TraceContext = {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly sampled: boolean
}

const shape = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** Undefined if malformed, of another version, or all zeros: the trace then starts here. */
export function parseTraceparent(value: string | undefined): TraceContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = shape.exec(value ?? '') ?? []
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}
