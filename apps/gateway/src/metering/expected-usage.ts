/** Remembers relayed requests until their worker should have reported them, and no longer. */
import { describeError, type Log } from '@privatemode/service'
import type { Database, Row } from '../state/database.ts'
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

/** What is known of a relayed request without its worker's word. */
export type RelayedRequest = Pick<
  UsageRecord,
  'requestId' | 'workerId' | 'keyId' | 'model' | 'path' | 'startedAtMs' | 'durationMs'
>

const everyMs = 1_000
// Small enough that an embedded database does not hold up requests for long.
const batchSize = 100
const maxWaiting = 500_000

/**
 * A worker that dies takes its unreported usage with it. So that no request is missing from the
 * books, each that was relayed is stored as `lost` after a while; where the worker's own word is
 * there this changes nothing, and where it comes later it replaces the row.
 */
export class ExpectedUsage {
  readonly #options: ExpectedUsageOptions
  // One text for each request, gathered by time: hundreds of thousands may wait, and as objects
  // they would keep the garbage collector busy.
  #groups: { readonly dueMs: number; readonly requests: string[] }[] = []
  #current: string[] = []
  #waiting = 0
  readonly #timer: ReturnType<typeof setInterval>
  #writing: Promise<void> | undefined

  constructor(options: ExpectedUsageOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#write(false), everyMs)
  }

  get waiting(): number {
    return this.#waiting
  }

  expect(request: RelayedRequest): void {
    if (this.#waiting >= maxWaiting) {
      this.#options.log.error('awaited usage is dropped: the database takes none')
      return
    }
    this.#waiting++
    this.#current.push(formatRequest(request))
  }

  /** Writes all that is still awaited: the worker's word will replace it. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#write(true)
  }

  #write(all: boolean): Promise<void> {
    if (this.#current.length > 0) {
      const dueMs = this.#options.clock() + this.#options.graceMs
      this.#groups.push({ dueMs, requests: this.#current })
      this.#current = []
    }
    this.#writing ??= this.#writeDue(all).finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeDue(all: boolean): Promise<void> {
    for (;;) {
      const [group] = this.#groups
      if (group === undefined || (!all && group.dueMs > this.#options.clock())) return
      const batch = group.requests.slice(-batchSize)
      try {
        const lost = await findUnreported(this.#options.database, batch.map(parseRequest))
        await storeUsage(this.#options.database, lost)
      } catch (error) {
        this.#options.log.warn('awaited usage could not be stored', describeError(error))
        return
      }
      group.requests.length -= batch.length
      this.#waiting -= batch.length
      if (group.requests.length === 0) this.#groups.shift()
    }
  }
}

/** Most have been reported by now: those are found with a look at the index and left alone. */
async function findUnreported(
  database: Database,
  requests: readonly UsageRecord[],
): Promise<UsageRecord[]> {
  const rows = await database.query<{ id: string } & Row>(
    `select replace(request_id::text, '-', '') as id from usage
     where request_id in (select jsonb_array_elements_text($1::jsonb)::uuid)`,
    [JSON.stringify(requests.map((request) => request.requestId))],
  )
  const reported = new Set(rows.map((row) => row.id))
  return requests.filter((request) => !reported.has(request.requestId))
}

/** No part has a line break in it: all were checked when the request came. */
function formatRequest(request: RelayedRequest): string {
  const { requestId, workerId, keyId, model, path, startedAtMs, durationMs } = request
  return `${requestId}\n${workerId}\n${keyId}\n${model}\n${path}\n${startedAtMs}\n${durationMs}`
}

function parseRequest(text: string): UsageRecord {
  const [requestId = '', workerId = '', keyId = '', model = '', path = '', ...times] =
    text.split('\n')
  return {
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
    startedAtMs: Number(times[0]),
    durationMs: Number(times[1]),
  }
}
