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
/** A connection to the database can die without a word, and is given up only after half a minute. */
const defaultLateMs = 1_000
/** A database that is only slow does not get more batches at once than this. */
const mostAtOnce = 4

export class BookingQueue {
  readonly #database: Database
  readonly #lateMs: number
  readonly #writing = new Set<Promise<void>>()
  #waiting: Report[] = []
  #isTaking = false

  /** After `lateMs`, the next batch no longer waits for the one before: it gets another connection. */
  constructor(database: Database, lateMs = defaultLateMs) {
    this.#database = database
    this.#lateMs = lateMs
  }

  /** Resolves once the records are stored, to how many of them have an unknown key. */
  book(records: readonly UsageRecord[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, resolve, reject })
      if (!this.#isTaking) void this.#takeAll()
    })
  }

  async #takeAll(): Promise<void> {
    this.#isTaking = true
    while (this.#waiting.length > 0) {
      const writing = this.#write(this.#takeBatch()).finally(() => this.#writing.delete(writing))
      this.#writing.add(writing)
      await this.#doneOrLate(writing)
      if (this.#writing.size >= mostAtOnce) await Promise.race(this.#writing)
    }
    this.#isTaking = false
  }

  async #doneOrLate(writing: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, this.#lateMs)
    await Promise.race([writing, late.promise])
    clearTimeout(timer)
  }

  async #write(batch: readonly Report[]): Promise<void> {
    if (!(await this.#storeTogether(batch)))
      await Promise.all(batch.map((report) => this.#storeAlone(report)))
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
