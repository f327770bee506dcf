/** A worker's signed usage report for one request, validated. */
import { createHash } from 'node:crypto'
import {
  admissionShape,
  isWorkerId,
  modelShape,
  receiptLabel,
  requestIdShape,
  usageReportText,
  type UsageRecord as WireRecord,
  type SignedUsage as WireUsage,
} from '@privatemode/protocol/fleet'

export type Outcome = 'complete' | 'aborted' | 'failed' | 'lost'

/** One request as billed. */
export type UsageRecord = {
  /** The gateway's number: one row each. */
  readonly admissionId: string
  /** The client's number, for its own records. */
  readonly requestId: string
  readonly workerId: string
  readonly keyId: string
  readonly model: string
  readonly path: string
  readonly status: number
  readonly outcome: Outcome
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  readonly startedAtMs: number
  readonly durationMs: number
}

/** A worker's report before it is known whether the request was admitted. */
export type ReportedUsage = Omit<UsageRecord, 'admissionId'> & { readonly admission: string }

/**
 * The wire form: the record's exact bytes, and a signature over them and the digest of the rest.
 * They stay text until they are used, which is rare: one signature covers a whole report.
 */
export type SignedUsage = {
  readonly recordBase64: string
  readonly restDigestHex: string
  readonly signatureBase64: string
}

const maxRecordDigits = 8192
/** Records are decoded one at a time: a buffer for each would cost more than decoding them. */
const decoded = Buffer.alloc(maxRecordDigits)
const strictDecoder = new TextDecoder('utf-8', { fatal: true })
const maxTokens = 1_000_000_000
/** About the most milliseconds that fit the column. */
const maxDurationMs = 24 * 86_400_000

/** Parses the wire form; undefined if malformed. */
export function parseSignedUsage(value: unknown): SignedUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { record, rest_digest, signature } = value as { [field in keyof WireUsage]?: unknown }
  if (typeof record !== 'string' || record.length > maxRecordDigits) return undefined
  if (typeof rest_digest !== 'string' || !/^[0-9a-f]{64}$/.test(rest_digest)) return undefined
  if (!isSignature(signature)) return undefined
  return {
    recordBase64: record,
    restDigestHex: rest_digest,
    signatureBase64: signature,
  }
}

/** Whether it is an Ed25519 signature in base64. */
export function isSignature(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9+/]{86}==$/.test(value)
}

/** The message that a worker signs about a whole report; only for records that were parsed. */
export function reportMessage(records: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(usageReportText(records as readonly WireUsage[]))
}

/** The message signed by the worker's receipt key: the same bytes as in the client's receipt. */
export function signedMessage(signed: SignedUsage): Uint8Array<ArrayBuffer> {
  const digest = createHash('sha256').update(signed.recordBase64, 'base64').digest()
  const restDigest = Buffer.from(signed.restDigestHex, 'hex')
  return new Uint8Array(Buffer.concat([Buffer.from(receiptLabel), digest, restDigest]))
}

/** Parses the record of a report in the right form. */
export function parseSignedRecord({ recordBase64 }: SignedUsage): ReportedUsage | undefined {
  return parseUsageRecord(decoded.subarray(0, decoded.write(recordBase64, 'base64')))
}

/** Parses the record; undefined if a field is missing or out of bounds. */
export function parseUsageRecord(bytes: Uint8Array): ReportedUsage | undefined {
  let value: unknown
  try {
    value = JSON.parse(strictDecoder.decode(bytes))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const wire = value as { readonly [field in keyof WireRecord]?: unknown }
  if (wire.version !== 2) return undefined
  const admission = matching(wire.admission, admissionShape)
  const requestId = matching(wire.request_id, requestIdShape)
  const workerId = matching(wire.worker_id, /^/)
  const keyId = matching(wire.key_ref, /^[A-Za-z0-9_]{1,64}$/)
  const model = matching(wire.model, modelShape)
  const path = matching(wire.path, /^\/[a-z0-9_/-]{1,80}$/)
  const outcome = outcomeOf(wire.outcome)
  const status = count(wire.status, 999)
  const promptTokens = count(wire.prompt_tokens, maxTokens)
  const cachedTokens = count(wire.cached_tokens, maxTokens)
  const completionTokens = count(wire.completion_tokens, maxTokens)
  const startedAtMs = count(wire.started_at, 8.64e15)
  const durationMs = count(wire.duration_ms, maxDurationMs)
  if (admission === undefined || requestId === undefined) return undefined
  if (workerId === undefined || !isWorkerId(workerId)) return undefined
  if (keyId === undefined || model === undefined || path === undefined) return undefined
  if (outcome === undefined || status === undefined || durationMs === undefined) return undefined
  if (promptTokens === undefined || cachedTokens === undefined || cachedTokens > promptTokens) {
    return undefined
  }
  if (completionTokens === undefined || startedAtMs === undefined) return undefined
  return {
    admission,
    requestId,
    workerId,
    keyId,
    model,
    path,
    status,
    outcome,
    promptTokens,
    cachedTokens: billedCachedTokens(path, cachedTokens),
    completionTokens,
    startedAtMs,
    durationMs,
  }
}

/** Tokens used through the messages endpoint are billed as uncached, whatever the engine reused. */
export function billedCachedTokens(path: string, cachedTokens: number): number {
  return path === '/v1/messages' || path.startsWith('/v1/messages/') ? 0 : cachedTokens
}

function outcomeOf(value: unknown): Outcome | undefined {
  return value === 'complete' || value === 'aborted' || value === 'failed' ? value : undefined
}

function matching(value: unknown, shape: RegExp): string | undefined {
  return typeof value === 'string' && shape.test(value) ? value : undefined
}

function count(value: unknown, most: number): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
    ? value
    : undefined
}
