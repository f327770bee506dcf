/** Receipts: what a worker signs about one exchange. The gateway sees only the usage. */
import { receiptLabel } from '../fleet/usage-report.ts'
import { encodeText, joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'

export type { UsageRecord } from '../fleet/usage-report.ts'

/** The part that only the client sees. The salt prevents guessing its content from the digest. */
export type ReceiptRest = {
  readonly request_digest: string
  readonly response_digest: string
  readonly statement_digest: string
  readonly manifest_digest?: string
  readonly salt: string
}

/** The receipt in the end record: base64 of the exact bytes, and one signature over both parts. */
export type Receipt = {
  readonly record: string
  readonly rest: string
  readonly signature: string
}

const label = encodeText(receiptLabel)

/** What the receipt key signs: label ‖ SHA-256(record) ‖ SHA-256(rest). */
export function receiptMessage(recordDigest: Bytes, restDigest: Bytes): Bytes {
  return joinBytes([label, recordDigest, restDigest])
}
