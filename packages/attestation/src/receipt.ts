/** Verifies a receipt: what a worker signed about one exchange, with the key bound by its evidence. */
import type { AttestedWorker } from './attested-worker.ts'
import { type Bytes, concatBytes, formatHex, utf8 } from './bytes.ts'
import { sha256 } from './digest.ts'
import { Fields } from './fields.ts'
import { verifyEd25519 } from './log/signed-note.ts'
import { parseJson } from './strict-json.ts'
import type { Transcript } from './verdict.ts'

/** As sent at the end of an answer: base64 of the exact bytes, and one signature over both parts. */
export type SignedReceipt = {
  readonly record: Bytes
  readonly rest: Bytes
  readonly signature: Bytes
}

export type ReceiptClaims = {
  readonly requestId: string
  readonly workerId: string
  readonly model: string
  readonly path: string
  readonly status: number
  readonly outcome: 'complete' | 'aborted' | 'failed'
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  readonly startedAt: Date
  readonly durationMs: number
  /** Hex SHA-256 of the request body and of the response body. */
  readonly requestDigest: string
  readonly responseDigest: string
  readonly statementDigest: string
  readonly manifestDigest: string | undefined
}

const label = utf8('privatemode/v1/receipt\0')
const codes = { malformed: 'receipt_invalid', unknown: 'receipt_invalid' } as const
const limits = { what: 'receipt', code: 'receipt_invalid', maxBytes: 16 * 1024 } as const

export function parseReceipt(bytes: Uint8Array): SignedReceipt {
  const fields = new Fields(parseJson(bytes, limits), 'receipt', codes)
  const receipt = readReceipt(fields)
  fields.end()
  return receipt
}

export function readReceipt(fields: Fields): SignedReceipt {
  return {
    record: fields.base64('record', { max: 8192 }),
    rest: fields.base64('rest', { max: 8192 }),
    signature: fields.base64('signature', 64),
  }
}

/** Refuses unless this exact worker signed it, about its own statement and a model it may serve. */
export async function verifyReceipt(
  receipt: SignedReceipt,
  worker: AttestedWorker,
  transcript: Transcript,
): Promise<ReceiptClaims> {
  const digests = [await sha256(receipt.record), await sha256(receipt.rest)]
  const message = concatBytes(label, ...digests)
  transcript.require(
    await verifyEd25519(worker.receiptKey, receipt.signature, message),
    'receipt/signature',
    'receipt_invalid',
    `the receipt must be signed by the receipt key of ${worker.workerId}`,
  )
  const claims = transcript.attempt('receipt/form', () => parseClaims(receipt))
  transcript.require(
    claims.workerId === worker.workerId,
    'receipt/worker',
    'receipt_invalid',
    `receipt of worker ${claims.workerId}, expected ${worker.workerId}`,
  )
  const statement = formatHex(worker.statementDigest)
  transcript.require(
    claims.statementDigest === statement,
    'receipt/statement',
    'receipt_invalid',
    `receipt under statement ${claims.statementDigest}, expected ${statement}`,
  )
  transcript.require(
    worker.models.some(({ id }) => id === claims.model),
    'receipt/model',
    'receipt_invalid',
    `receipt for model ${claims.model}, verified are ${worker.models.map(({ id }) => id).join(', ')}`,
  )
  if (claims.manifestDigest === undefined) {
    transcript.skip('receipt/manifest', 'the client named no manifest in its request')
  } else {
    transcript.require(
      claims.manifestDigest === worker.manifestDigest,
      'receipt/manifest',
      'receipt_invalid',
      `receipt under manifest ${claims.manifestDigest}, expected ${worker.manifestDigest}`,
    )
  }
  return claims
}

function parseClaims(receipt: SignedReceipt): ReceiptClaims {
  const record = new Fields(parseJson(receipt.record, limits), 'receipt.record', codes)
  const rest = new Fields(parseJson(receipt.rest, limits), 'receipt.rest', codes)
  // Version 2 names the admission; version 1 receipts can still be verified.
  const version = record.integer('version', { min: 1, max: 2 })
  if (version === 2) record.hex('admission', 32)
  record.text('key_ref')
  rest.base64('salt', { max: 64 })
  const claims: ReceiptClaims = {
    requestId: record.hex('request_id', 16),
    workerId: record.text('worker_id'),
    model: record.text('model'),
    path: record.text('path'),
    status: record.integer('status', { min: 100, max: 599 }),
    outcome: record.choice('outcome', ['complete', 'aborted', 'failed']),
    promptTokens: record.integer('prompt_tokens'),
    cachedTokens: record.integer('cached_tokens'),
    completionTokens: record.integer('completion_tokens'),
    startedAt: new Date(record.integer('started_at', { min: 0, max: 8_640_000_000_000_000 })),
    durationMs: record.integer('duration_ms'),
    requestDigest: rest.hex('request_digest', 32),
    responseDigest: rest.hex('response_digest', 32),
    statementDigest: rest.hex('statement_digest', 32),
    manifestDigest: rest.optional('manifest_digest', (name) => rest.text(name)),
  }
  record.end()
  rest.end()
  return claims
}
