/** Receipts: what a worker signs about one exchange. The gateway sees the usage and no more. */
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'

/** The part that meters: it goes to the gateway and to the client, byte for byte the same. */
export type UsageRecord = {
  readonly version: 2
  /** The gateway's own number of the request, which the bill goes by; see `fleet/relayed-request.ts`. */
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

/** The part that only the client sees. The salt keeps its digest from being guessed. */
export type ReceiptRest = {
  readonly request_digest: string
  readonly response_digest: string
  readonly statement_digest: string
  readonly manifest_digest?: string
  readonly salt: string
}

/** The receipt in the end record: base64 of exact bytes, and one signature over both parts. */
export type Receipt = {
  readonly record: string
  readonly rest: string
  readonly signature: string
}

const label = encodeText('privatemode/v1/receipt\0')

/** What the receipt key signs: label ‖ SHA-256(record) ‖ SHA-256(rest). */
export function receiptMessage(recordDigest: Bytes, restDigest: Bytes): Bytes {
  return joinBytes([label, recordDigest, restDigest])
}
