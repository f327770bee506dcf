/** `POST /privatemode/v1/registry/usage`: workers report the usage of requests. */
import { ApiError } from '@privatemode/protocol/api'
import { maxUsageRecords } from '@privatemode/protocol/fleet'
import type { Log } from '@privatemode/service'
import { readJson } from '../http/read-json.ts'
import type { GatewayMetrics } from '../metrics/gateway-metrics.ts'
import type { Database } from '../state/database.ts'
import type { Admissions } from './admissions.ts'
import type { ReceiptKeys } from './receipt-keys.ts'
import { parseSignedUsage, parseUsageRecord, type UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

export type UsageParts = {
  readonly database: Database
  readonly receiptKeys: ReceiptKeys
  readonly admissions: Admissions
  readonly log: Log
  readonly metrics: GatewayMetrics
}

const maxBodyBytes = 1024 * 1024

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
  const checked = await Promise.all(wire.map((entry: unknown) => check(entry, parts)))
  const good = checked.filter((record) => record !== undefined)
  const { unknown } = await storeUsage(parts.database, good)
  const rejected = wire.length - good.length + unknown
  if (rejected > 0) parts.log.warn('rejected usage records', { count: rejected })
  parts.metrics.usageRecords.add(wire.length - rejected, { verdict: 'accepted' })
  parts.metrics.usageRecords.add(rejected, { verdict: 'rejected' })
  return Response.json({ accepted: wire.length - rejected, rejected })
}

async function check(entry: unknown, parts: UsageParts): Promise<UsageRecord | undefined> {
  const signed = parseSignedUsage(entry)
  const reported = signed && parseUsageRecord(signed.recordBytes)
  const record = reported && parts.admissions.settle(reported)
  if (signed === undefined || record === undefined) return undefined
  return (await parts.receiptKeys.verify(record.workerId, signed)) ? record : undefined
}
