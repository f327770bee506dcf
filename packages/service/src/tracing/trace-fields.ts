/** The fields of a span. None of them holds text: no content, no keys, no caller's headers. */
export const traceFields = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  code: 'error.type',
  model: 'privatemode.model',
  worker: 'privatemode.worker',
  outcome: 'privatemode.outcome',
  attempts: 'privatemode.attempts',
  bytesIn: 'http.request.body.size',
  bytesOut: 'http.response.body.size',
  firstByteMs: 'privatemode.first_byte_ms',
} as const

export type TraceField = keyof typeof traceFields
export type TraceFieldValues = { readonly [Name in TraceField]?: string | number | undefined }

type OtlpValue = { readonly stringValue: string } | { readonly intValue: string }
export type OtlpAttribute = { readonly key: string; readonly value: OtlpValue }

/** Names and codes are short and without spaces; other values are not exported. */
const word = /^[\x21-\x7e]{1,256}$/

/** Drops unlisted fields, at run time, too. */
export function formatTraceFields(values: TraceFieldValues): OtlpAttribute[] {
  const attributes: OtlpAttribute[] = []
  for (const [name, key] of Object.entries(traceFields)) {
    const value = values[name as TraceField]
    if (typeof value === 'number' && Number.isFinite(value)) {
      attributes.push({ key, value: { intValue: String(Math.round(value)) } })
    } else if (typeof value === 'string' && word.test(value)) {
      attributes.push({ key, value: { stringValue: value } })
    }
  }
  return attributes
}
