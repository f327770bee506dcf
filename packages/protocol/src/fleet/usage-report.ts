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
export type UsageReport = { readonly records: readonly SignedUsage[] }

/** The maximum number of records in one report. */
export const maxUsageRecords = 1_000
