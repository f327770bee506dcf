/** What a worker reports of a request: the signed record that is billed, and that the client's receipt has as well. */

/** The part that meters: it goes to the gateway and to the client, byte for byte the same. */
export type UsageRecord = {
  readonly version: 2
  /** The gateway's own number of the request, which the bill goes by; see `relayed-request.ts`. */
  readonly admission: string
  /** The client's number of the request: for its own books, never for the bill. */
  readonly request_id: string
  readonly worker_id: string
  /** The gateway's opaque name of the API key. */
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

/** The record's exact bytes in base64, and a signature over them and over the digest of what only the client sees. */
export type SignedUsage = {
  readonly record: string
  /** Hex of SHA-256. */
  readonly rest_digest: string
  /** Base64 of an Ed25519 signature over `receiptLabel` ‖ SHA-256(record) ‖ `rest_digest`. */
  readonly signature: string
}

export const receiptLabel = 'privatemode/v1/receipt\0'

/** The body of `POST registry/usage`. */
export type UsageReport = { readonly records: readonly SignedUsage[] }

/** Records in one report at most. */
export const maxUsageRecords = 1_000
