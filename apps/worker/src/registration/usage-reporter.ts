/** Reports signed usage to the gateway in batches, retrying until each is acknowledged. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SignedUsage } from '@privatemode/protocol/fleet'
import type { Log } from '@privatemode/service'

export type PostUsage = (records: readonly SignedUsage[]) => Promise<void>

const [smallestBatch, largestBatch] = [20, 500]
/** However short a batch is, it costs the gateway milliseconds: under load there are fewer and longer ones. */
const [gatherMs, busyGatherMs] = [100, 400]
const maxPauseMs = 5_000
/** About 50 MB. Beyond that, the oldest records are dropped and the loss is logged. */
const maxWaiting = 100_000

export class UsageReporter {
  readonly #post: PostUsage
  readonly #log: Log
  #waiting: SignedUsage[] = []
  #running: Promise<void> | undefined
  #pauseMs = gatherMs
  /** Reduced after each failure: a slow gateway must be able to accept a batch in time. */
  #batchSize = largestBatch
  #stopping = false

  constructor(post: PostUsage, log: Log) {
    this.#post = post
    this.#log = log
  }

  add = (usage: SignedUsage): void => {
    this.#waiting.push(usage)
    if (this.#waiting.length > maxWaiting) {
      this.#waiting.shift()
      this.#log.error('dropping usage record: the gateway has not accepted any for too long')
    }
    this.#running ??= this.#run()
  }

  /** Records the gateway has not accepted yet. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Reports the remaining records, for at most `limitMs`. */
  async flush(limitMs: number): Promise<void> {
    this.#stopping = true
    await Promise.race([this.#running, sleep(limitMs, undefined, { ref: false })])
    const count = this.#waiting.length
    if (count > 0) this.#log.error('usage records lost at shutdown', { count })
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!this.#stopping) await sleep(this.#pauseMs)
      const batch = this.#waiting.slice(0, this.#batchSize)
      try {
        await this.#post(batch)
        // Not by position: records may have been dropped from the front during the post.
        const sent = new Set(batch)
        this.#waiting = this.#waiting.filter((usage) => !sent.has(usage))
        const seen = batch.length + this.#waiting.length
        this.#pauseMs = seen < smallestBatch || seen >= largestBatch ? gatherMs : busyGatherMs
        this.#batchSize = Math.min(this.#batchSize * 2, largestBatch)
      } catch {
        this.#batchSize = Math.max(Math.floor(this.#batchSize / 2), smallestBatch)
        this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
        this.#log.warn('gateway did not accept usage, retrying', { count: batch.length })
        if (this.#stopping) await sleep(200)
      }
    }
    this.#running = undefined
  }
}
