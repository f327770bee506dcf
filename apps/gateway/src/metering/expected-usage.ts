/** Remembers relayed requests until their worker should have reported them, and no longer. */
import { describeError, type Log } from '@privatemode/service'
import type { Database } from '../state/database.ts'
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

const everyMs = 1_000
const batchSize = 500
const maxWaiting = 200_000

/**
 * A worker that dies takes its unreported usage with it. So that no request is missing from the
 * books, each that was relayed is stored as `lost` after a while; where the worker's own word is
 * there this changes nothing, and where it comes later it replaces the row.
 */
export class ExpectedUsage {
  readonly #options: ExpectedUsageOptions
  #waiting: { readonly dueMs: number; readonly record: UsageRecord }[] = []
  readonly #timer: ReturnType<typeof setInterval>
  #writing: Promise<void> | undefined

  constructor(options: ExpectedUsageOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#write(false), everyMs)
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** `record` is what is known without the worker: no tokens, outcome `lost`. */
  expect(record: UsageRecord): void {
    if (this.#waiting.length >= 2 * maxWaiting) {
      this.#options.log.error('awaited usage is dropped: the database takes none')
      return
    }
    this.#waiting.push({ dueMs: this.#options.clock() + this.#options.graceMs, record })
  }

  /** Writes all that is still awaited: the worker's word will replace it. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#write(true)
  }

  #write(all: boolean): Promise<void> {
    this.#writing ??= this.#writeDue(all).finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeDue(all: boolean): Promise<void> {
    for (;;) {
      const nowMs = this.#options.clock()
      const crowded = this.#waiting.length > maxWaiting
      const due = this.#waiting
        .slice(0, batchSize)
        .filter((entry) => all || crowded || entry.dueMs <= nowMs)
      if (due.length === 0) return
      try {
        await storeUsage(
          this.#options.database,
          due.map((entry) => entry.record),
        )
      } catch (error) {
        this.#options.log.warn('awaited usage could not be stored', describeError(error))
        return
      }
      this.#waiting.splice(0, due.length)
    }
  }
}
