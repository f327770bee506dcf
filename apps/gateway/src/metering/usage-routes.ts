/** `POST /privatemode/v1/registry/usage`: workers report the usage of requests. */
import { ApiError } from '@privatemode/protocol/api'
import { maxUsageRecords } from '@privatemode/protocol/fleet'
import { giveTurn, type Log } from '@privatemode/service'
import { readJson } from '../http/read-json.ts'
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts'
import type { Admissions } from './admissions.ts'
import type { BookingQueue } from './booking-queue.ts'
import type { ExpectedUsage } from './expected-usage.ts'
import type { ReceiptKeys } from './receipt-keys.ts'
import {
  isSignature,
  parseSignedRecord,
  parseSignedUsage,
  reportMessage,
  type SignedUsage,
  signedMessage,
  type UsageRecord,
} from './usage-record.ts'

export type UsageParts = {
  readonly booking: Pick<BookingQueue, 'book'>
  readonly receiptKeys: ReceiptKeys
  readonly admissions: Admissions
  readonly expected: Pick<ExpectedUsage, 'stored'>
  readonly log: Log
  readonly metrics: GatewayMetrics
}

const maxBodyBytes = 1024 * 1024
/** Requests wait for so many records of a long report, not for all of them: up to half a millisecond. */
const recordsPerTurn = 10

/**
 * Acknowledges records that are stored or never can be. Records that a worker did not sign, or no
 * gateway admitted, are counted as rejected: resending them would only hold up the records behind
 * them.
 */
export async function answerUsage(request: Request, parts: UsageParts): Promise<Response> {
  const body = await readJson(request, maxBodyBytes)
  const wire = typeof body === 'object' && body !== null && 'records' in body ? body.records : []
  if (!Array.isArray(wire) || wire.length > maxUsageRecords) {
    throw new ApiError('invalid_value', `records must be a list of at most ${maxUsageRecords}`, {
      param: 'records',
    })
  }
  const admitted = await findAllAdmitted(wire, parts)
  const signer = await signerOf(body as object, wire, admitted, parts)
  const good = await goodOf(admitted, signer, parts)
  const unknown = good.length === 0 ? 0 : await parts.booking.book(good)
  parts.expected.stored(good)
  const rejected = wire.length - good.length + unknown
  if (rejected > 0) parts.log.warn('rejected usage records', { count: rejected })
  parts.metrics.usageRecords.add(wire.length - rejected, { verdict: 'accepted' })
  parts.metrics.usageRecords.add(rejected, { verdict: 'rejected' })
  return Response.json({ accepted: wire.length - rejected, rejected })
}

type Admitted = { readonly signed: SignedUsage; readonly record: UsageRecord }

async function findAllAdmitted(
  wire: readonly unknown[],
  parts: UsageParts,
): Promise<(Admitted | undefined)[]> {
  const admitted: (Admitted | undefined)[] = []
  for (const [index, entry] of wire.entries()) {
    if (index > 0 && index % recordsPerTurn === 0) await giveTurn('usage reports')
    admitted.push(findAdmitted(entry, parts))
  }
  return admitted
}

/** A record in the right form of a request that a gateway admitted. */
function findAdmitted(entry: unknown, parts: UsageParts): Admitted | undefined {
  const signed = parseSignedUsage(entry)
  const reported = signed && parseSignedRecord(signed)
  const record = reported && parts.admissions.settle(reported)
  return signed && record && { signed, record }
}

/** The worker that signed the whole report: its records need no check of their own. */
async function signerOf(
  body: { readonly signature?: unknown },
  wire: readonly unknown[],
  admitted: readonly (Admitted | undefined)[],
  { receiptKeys }: UsageParts,
): Promise<string | undefined> {
  const { signature } = body
  const [first] = admitted
  if (!isSignature(signature) || first === undefined || admitted.includes(undefined))
    return undefined
  const { workerId } = first.record
  return (await receiptKeys.verify(workerId, reportMessage(wire), signature)) ? workerId : undefined
}

/** The records that their worker signed, each by itself or the whole report. */
async function goodOf(
  admitted: readonly (Admitted | undefined)[],
  signer: string | undefined,
  parts: UsageParts,
): Promise<UsageRecord[]> {
  const isCovered = (entry: Admitted | undefined) =>
    entry !== undefined && entry.record.workerId === signer
  // Nearly always; a promise for each of hundreds of records would cost more than their checks.
  if (admitted.every(isCovered)) return admitted.flatMap((entry) => entry?.record ?? [])
  const checked = await Promise.all(
    admitted.map((entry) => (isCovered(entry) ? entry?.record : check(entry, parts))),
  )
  return checked.filter((record) => record !== undefined)
}

async function check(
  entry: Admitted | undefined,
  { receiptKeys }: UsageParts,
): Promise<UsageRecord | undefined> {
  if (entry === undefined) return undefined
  const { signed, record } = entry
  const isSigned = await receiptKeys.verify(
    record.workerId,
    signedMessage(signed),
    signed.signatureBase64,
  )
  return isSigned ? record : undefined
}
