/** Remembers relayed requests until their worker should have reported them. */
import { describeError, type Log } from '@privatemode/service'
import type { Database, Row } from '../state/database.ts'
import { admissionIdDigits } from './admissions.ts'
import { RecentIds } from './recent-ids.ts'
import type { UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

export type ExpectedUsageOptions = {
  readonly database: Database
  readonly log: Log
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** How long a worker has to report. */
  readonly graceMs: number
}

/** What is known of a relayed request without its worker's report. */
export type RelayedRequest = Pick<
  UsageRecord,
  | 'admissionId'
  | 'requestId'
  | 'workerId'
  | 'keyId'
  | 'model'
  | 'path'
  | 'startedAtMs'
  | 'durationMs'
>

const everyMs = 1_000
// Small enough that an embedded database does not delay requests for long.
const batchSize = 100
const maxWaiting = 500_000
/** A request falls due up to this long after its grace time: its group must be full or a second old. */
const storedSlackMs = 10_000
/** A request takes at most 700 bytes of it: the length of all its parts was checked. */
const groupBytes = 64 * 1024

type Group = { readonly dueMs: number; readonly bytes: Buffer; readonly count: number }

/**
 * A worker that dies takes its unreported usage with it. So that no request is missing from the
 * books, each relayed one is stored as `lost` after a while; if the worker has already reported,
 * this changes nothing, and a later report replaces the row.
 */
export class ExpectedUsage {
  readonly #options: ExpectedUsageOptions
  // Hundreds of thousands may be waiting. As bytes they cost the garbage collector nothing; as
  // strings, each would also keep the whole head alive from which it was sliced.
  readonly #gathered = Buffer.allocUnsafe(groupBytes)
  #gatheredBytes = 0
  #gatheredCount = 0
  #groups: Group[] = []
  /** Admissions whose usage this gateway has stored. */
  readonly #stored: RecentIds
  #waiting = 0
  readonly #timer: ReturnType<typeof setInterval>
  #writing: Promise<void> | undefined

  constructor(options: ExpectedUsageOptions) {
    this.#options = options
    const { clock, graceMs } = options
    this.#stored = new RecentIds({ clock, leastMs: graceMs + storedSlackMs, most: maxWaiting })
    this.#timer = setInterval(() => void this.#write(false), everyMs)
  }

  get waiting(): number {
    return this.#waiting
  }

  expect(request: RelayedRequest): void {
    if (this.#waiting >= maxWaiting) {
      this.#options.log.error('dropping pending usage: the database is not accepting writes')
      return
    }
    const text = formatRequest(request)
    if (this.#gatheredBytes + text.length > groupBytes) this.#closeGroup()
    this.#gatheredBytes += this.#gathered.write(text, this.#gatheredBytes, 'latin1')
    this.#gatheredCount++
    this.#waiting++
  }

  /** Usage that was stored: the database need not be asked about it when the request falls due. */
  stored(records: readonly UsageRecord[]): void {
    for (const { admissionId } of records) this.#stored.add(admissionId)
  }

  /** Writes all that is still pending: the worker's report will replace it. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#write(true)
  }

  #closeGroup(): void {
    if (this.#gatheredCount === 0) return
    const dueMs = this.#options.clock() + this.#options.graceMs
    const bytes = Buffer.from(this.#gathered.subarray(0, this.#gatheredBytes))
    this.#groups.push({ dueMs, bytes, count: this.#gatheredCount })
    this.#gatheredBytes = 0
    this.#gatheredCount = 0
  }

  #write(all: boolean): Promise<void> {
    this.#closeGroup()
    this.#writing ??= this.#writeDue(all).finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeDue(all: boolean): Promise<void> {
    for (;;) {
      const [group] = this.#groups
      if (group === undefined || (!all && group.dueMs > this.#options.clock())) return
      try {
        await this.#store(group)
      } catch (error) {
        // Requests of the group that are already stored are found next time.
        this.#options.log.warn('failed to store pending usage', describeError(error))
        return
      }
      this.#groups.shift()
      this.#waiting -= group.count
    }
  }

  async #store(group: Group): Promise<void> {
    // Nearly all are stored by now: only their ids are read, with which lines begin.
    const requests = linesOf(group.bytes)
      .filter((line) => !this.#stored.has(line.slice(0, admissionIdDigits)))
      .map(parseRequest)
    for (let at = 0; at < requests.length; at += batchSize) {
      const batch = requests.slice(at, at + batchSize)
      const lost = await findUnreported(this.#options.database, batch)
      await storeUsage(this.#options.database, lost)
    }
  }
}

/** Other gateways have stored most of these by now: found by an index lookup and skipped. */
async function findUnreported(
  database: Database,
  requests: readonly UsageRecord[],
): Promise<UsageRecord[]> {
  const rows = await database.query<{ id: string } & Row>(
    `select replace(admission_id::text, '-', '') as id from usage
     where admission_id in (select jsonb_array_elements_text($1::jsonb)::uuid)`,
    [JSON.stringify(requests.map((request) => request.admissionId))],
  )
  const reported = new Set(rows.map((row) => row.id))
  return requests.filter((request) => !reported.has(request.admissionId))
}

/** One line; no part contains a tab or a line break: all were checked when the request arrived. */
function formatRequest(request: RelayedRequest): string {
  const { admissionId, requestId, workerId, keyId, model, path, startedAtMs, durationMs } = request
  return `${admissionId}\t${requestId}\t${workerId}\t${keyId}\t${model}\t${path}\t${startedAtMs}\t${durationMs}\n`
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('latin1').trimEnd().split('\n')
}

function parseRequest(line: string): UsageRecord {
  const [admissionId = '', requestId = '', workerId = '', keyId = '', model = '', ...rest] =
    line.split('\t')
  const [path = '', startedAt, duration] = rest
  return {
    admissionId,
    requestId,
    workerId,
    keyId,
    model,
    path,
    status: 200,
    outcome: 'lost',
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    startedAtMs: Number(startedAt),
    durationMs: Number(duration),
  }
}
