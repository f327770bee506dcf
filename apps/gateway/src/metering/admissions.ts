/**
 * The gateway's own numbers for admitted requests, by which they are billed.
 *
 * An admission is an id and a tag. The tag is a MAC over everything that a report may be billed
 * for, under a key that only gateways have: any gateway recognizes what any of them admitted, for
 * this worker and this key, without storing it; and no choice of a client or a worker can name a
 * request that was never admitted, or one other than its own.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Queries, Row } from '../state/database.ts'
import type { ReportedUsage, UsageRecord } from './usage-record.ts'

/** What an admission is for. */
export type AdmittedRequest = {
  readonly admissionId: string
  readonly workerId: string
  readonly keyId: string
  readonly requestId: string
  readonly model: string
  readonly path: string
}

export const admissionIdDigits = 32
const tagDigits = 32
const timeDigits = 12

export class Admissions {
  // Copied for each use: preparing a key costs as much as the MAC itself.
  readonly #keyed: Bun.CryptoHasher
  readonly #given = Buffer.alloc(tagDigits)
  readonly #expected = Buffer.alloc(tagDigits)

  constructor(key: Uint8Array) {
    this.#keyed = new Bun.CryptoHasher('sha256', key)
  }

  /** A fresh, time-ordered id, so that the rows of a day are stored together (UUIDv7, RFC 9562). */
  newId(): string {
    return Bun.randomUUIDv7().replace(/-/g, '') // half the cost of replaceAll
  }

  /** The text given to the worker, which it must include in its report. */
  format(request: AdmittedRequest): string {
    return request.admissionId + this.#tag(request.admissionId, request)
  }

  /** The report as billed; undefined if no gateway admitted exactly this request. */
  settle(reported: ReportedUsage): UsageRecord | undefined {
    const { admission } = reported
    const admissionId = admission.slice(0, admissionIdDigits)
    if (admission.length !== admissionIdDigits + tagDigits) return undefined
    this.#given.write(admission.slice(admissionIdDigits), 'latin1')
    this.#expected.write(this.#tag(admissionId, reported), 'latin1')
    if (!timingSafeEqual(this.#given, this.#expected)) return undefined
    // The billed month is that of its admission, whatever a worker's clock shows.
    const startedAtMs = admittedAtMs(admissionId)
    const mostMs = Math.max(0, Date.now() - startedAtMs)
    // Field by field: copying all of them at once costs as much as the MAC.
    return {
      admissionId,
      requestId: reported.requestId,
      workerId: reported.workerId,
      keyId: reported.keyId,
      model: reported.model,
      path: reported.path,
      status: reported.status,
      outcome: reported.outcome,
      promptTokens: reported.promptTokens,
      cachedTokens: reported.cachedTokens,
      completionTokens: reported.completionTokens,
      startedAtMs,
      durationMs: Math.min(reported.durationMs, mostMs),
    }
  }

  #tag(admissionId: string, request: Omit<AdmittedRequest, 'admissionId'>): string {
    const { workerId, keyId, requestId, model, path } = request
    const text = `privatemode/v1/admission\n${admissionId}\n${workerId}\n${keyId}\n${requestId}\n${model}\n${path}`
    return this.#keyed.copy().update(text).digest('hex').slice(0, tagDigits)
  }
}

/** The time contained in an id. */
export function admittedAtMs(admissionId: string): number {
  return Number.parseInt(admissionId.slice(0, timeDigits), 16)
}

/** The key shared by all gateways on one database; the first of them creates it. */
export async function openAdmissions(database: Queries): Promise<Admissions> {
  await database.query(
    `insert into gateway_secrets (name, secret) values ('admissions', $1) on conflict do nothing`,
    [randomBytes(32)],
  )
  const [row] = await database.query<{ secret: Uint8Array } & Row>(
    `select secret from gateway_secrets where name = 'admissions'`,
  )
  if (row === undefined) throw new Error('the admissions key is missing')
  return new Admissions(row.secret)
}
