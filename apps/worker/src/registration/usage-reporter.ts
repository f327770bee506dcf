/** Reports signed usage to the gateway in batches, retrying until each is acknowledged. */
import type { SignedUsage } from '@privatemode/protocol/fleet'
import type { Log } from '@privatemode/service'

export type PostUsage = (records: readonly SignedUsage[]) => Promise<void>

const largestBatch = 500
const smallestBatch = 20
const gatherMs = 100
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
    const late = new Promise<void>((resolve) => setTimeout(resolve, limitMs).unref())
    await Promise.race([this.#running ?? Promise.resolve(), late])
    if (this.#waiting.length > 0) {
      this.#log.error('usage records lost at shutdown', { count: this.#waiting.length })
    }
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!this.#stopping) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs))
      const batch = this.#waiting.slice(0, this.#batchSize)
      try {
        await this.#post(batch)
        // Not by position: records may have been dropped from the front during the post.
        const sent = new Set(batch)
        this.#waiting = this.#waiting.filter((usage) => !sent.has(usage))
        this.#pauseMs = gatherMs
        this.#batchSize = Math.min(this.#batchSize * 2, largestBatch)
      } catch {
        this.#batchSize = Math.max(Math.floor(this.#batchSize / 2), smallestBatch)
        this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
        this.#log.warn('gateway did not accept usage, retrying', { count: batch.length })
        if (this.#stopping) await new Promise((resolve) => setTimeout(resolve, 200))
      }
    }
    this.#running = undefined
  }
}
