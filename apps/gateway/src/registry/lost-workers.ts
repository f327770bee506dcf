/** Workers that hold requests of ours and are no longer listed: who answers nothing at all is given up. */
import { emptyRange, type UpstreamPool } from '@privatemode/http'
import type { Database } from '../state/database.ts'
import { hasLapsed } from './worker-store.ts'
import type { UnlistedWatch, ViewedWorker } from './worker-view.ts'

export type LostWorkersOptions = {
  readonly database: Database
  readonly pool: UpstreamPool
  readonly clock: () => number
  /** Time that a worker has to come back, and silence of a request that counts. */
  readonly graceMs: number
  /** Told of each worker that was given up, with the number of requests. */
  readonly onGivenUp: (entry: ViewedWorker, requests: number) => void
}

type Lost = { readonly entry: ViewedWorker; readonly sinceMs: number; asking: boolean }

/** A worker that computes still answers a question for its health at once. */
const maxAnswerMs = 3_000

/**
 * A lease alone is no proof: a worker that computes may only have lost its way to us. So requests
 * are failed when three things agree: the lease ran out (nobody took it back), the worker does not
 * answer on a connection of its own, and the request has had no byte for as long.
 */
export class LostWorkers implements UnlistedWatch {
  readonly #options: LostWorkersOptions
  readonly #judging = new Set<Promise<void>>()
  #lost = new Map<string, Lost>()

  constructor(options: LostWorkersOptions) {
    this.#options = options
  }

  /** The entry of a worker that was lost and is back: its requests still count. */
  find(id: string): ViewedWorker | undefined {
    return this.#lost.get(id)?.entry
  }

  follow(unlisted: readonly ViewedWorker[]): void {
    const nowMs = this.#options.clock()
    const next = new Map<string, Lost>()
    for (const entry of unlisted) {
      const { id } = entry.worker
      if (entry.shares.total === 0) continue
      next.set(id, this.#lost.get(id) ?? { entry, sinceMs: nowMs, asking: false })
    }
    this.#lost = next
    for (const lost of next.values()) {
      if (nowMs - lost.sinceMs >= this.#options.graceMs && !lost.asking) this.#startJudging(lost)
    }
  }

  entries(): ViewedWorker[] {
    return [...this.#lost.values()].map(({ entry }) => entry)
  }

  /** Waits for what is being judged. */
  async close(): Promise<void> {
    await Promise.all(this.#judging)
  }

  #startJudging(lost: Lost): void {
    lost.asking = true
    const judging = this.#judge(lost)
      // What cannot be judged now is judged with the next view.
      .catch(() => undefined)
      .finally(() => {
        lost.asking = false
        this.#judging.delete(judging)
      })
    this.#judging.add(judging)
  }

  async #judge({ entry }: Lost): Promise<void> {
    const { database, pool, graceMs, onGivenUp } = this.#options
    const { id, url } = entry.worker
    // A worker that took leave ends its answers in peace and no longer takes connections.
    if (!(await hasLapsed(database, id))) return
    if (await answersAt(pool, url, Math.min(maxAnswerMs, graceMs))) return
    // It may have come back meanwhile.
    if (this.#lost.get(id)?.entry !== entry) return
    const requests = pool.giveUp(url, graceMs)
    if (requests > 0) onGivenUp(entry, requests)
  }
}

/** Whether anything answers there, on a new connection: an old one may be dead while the worker is not. */
async function answersAt(pool: UpstreamPool, url: string, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), timeoutMs)
  const asking = pool.connect(url)
  asking.then(
    (connection) => {
      const host = url.slice(url.indexOf('//') + 2)
      const head = `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`
      const sink = {
        head: () => resolve(true),
        data: () => undefined,
        fail: () => resolve(false),
      }
      connection.send({ head, body: emptyRange, lengthBytes: 0 }, sink, Infinity)
      promise.then(() => connection.abandon())
    },
    () => resolve(false),
  )
  return promise.finally(() => clearTimeout(timer))
}
