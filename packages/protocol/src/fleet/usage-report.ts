/**
 * What a worker reports about a request: the signed record that is billed, and that also appears in
 * the client's receipt.
 */

/** The metered part: the gateway and the client receive it byte for byte the same. */
export type UsageRecord = {
  readonly version: 2
  /** The gateway's own id of the request, which billing relies on; see `relayed-request.ts`. */
  readonly admission: string
  /** The client's id of the request: for the client's own records, never for billing. */
  readonly request_id: string
  readonly worker_id: string
  /** The gateway's opaque reference to the API key. */
  readonly key_ref: string
  readonly model: string
  readonly path: string
  readonly status: number
  readonly outcome: 'complete' | 'aborted' | 'failed'
  readonly prompt_tokens: number
  readonly cached_tokens: number
  readonly completion_tokens: number
  readonly started_at: number
  readonly duration_ms: number
}

/**
 * The record's exact bytes in base64, and a signature over them and over the digest of the part
 * that only the client sees.
 */
export type SignedUsage = {
  readonly record: string
  /** SHA-256 in hex. */
  readonly rest_digest: string
  /** Base64 of an Ed25519 signature over `receiptLabel` ‖ SHA-256(record) ‖ `rest_digest`. */
  readonly signature: string
}

export const receiptLabel = 'privatemode/v1/receipt\0'

/** The body of `POST registry/usage`. */
export type UsageReport = {
  readonly records: readonly SignedUsage[]
  /**
   * Base64 of an Ed25519 signature of the same key over `usageReportText`: one check instead of one
   * for every record. Older workers do not send it.
   */
  readonly signature?: string
}

/** What the signature of a whole report covers; its beginning tells it from a receipt. */
export function usageReportText(records: readonly SignedUsage[]): string {
  const fields = records.map(({ record, rest_digest, signature }) => [
    ...[record, rest_digest, signature],
  ])
  return `privatemode/v1/usage-report\0${JSON.stringify(fields)}`
}

/** The maximum number of records in one report. */
export const maxUsageRecords = 1_000
