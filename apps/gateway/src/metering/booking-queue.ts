/** Stores reports in batches: those that arrive while a batch is being written form the next one. */
import type { Database } from '../state/database.ts'
import type { UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

type Report = {
  readonly records: readonly UsageRecord[]
  readonly resolve: (unknown: number) => void
  readonly reject: (error: unknown) => void
}

/** So that a batch does not hold up other queries for long; a report may be as long by itself. */
const mostRecords = 500

export class BookingQueue {
  readonly #database: Database
  #waiting: Report[] = []
  #isWriting = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Resolves once the records are stored, to how many of them have an unknown key. */
  book(records: readonly UsageRecord[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, resolve, reject })
      if (!this.#isWriting) void this.#write()
    })
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch()
      if (!(await this.#storeTogether(batch)))
        await Promise.all(batch.map((report) => this.#storeAlone(report)))
    }
    this.#isWriting = false
  }

  #takeBatch(): Report[] {
    let length = 0
    const end = this.#waiting.findIndex(({ records }, index) => {
      length += records.length
      return index > 0 && length > mostRecords
    })
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  /**
   * Returns whether all are stored. If not, each is stored by itself: no report fails because of
   * another, and unknown keys are counted for the one that has them.
   */
  async #storeTogether(batch: readonly Report[]): Promise<boolean> {
    if (batch.length < 2) return false
    try {
      const all = batch.flatMap(({ records }) => records)
      const { unknown } = await storeUsage(this.#database, all)
      if (unknown > 0) return false
    } catch {
      return false
    }
    for (const { resolve } of batch) resolve(0)
    return true
  }

  async #storeAlone({ records, resolve, reject }: Report): Promise<void> {
    try {
      resolve((await storeUsage(this.#database, records)).unknown)
    } catch (error) {
      reject(error)
    }
  }
}
