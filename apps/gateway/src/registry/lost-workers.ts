/** Watches unlisted workers that hold requests of ours; an unresponsive one has its requests aborted. */
import { emptyRange, type UpstreamPool } from '@privatemode/http'
import type { Database } from '../state/database.ts'
import { hasLapsed } from './worker-store.ts'
import type { UnlistedWatch, ViewedWorker } from './worker-view.ts'

export type LostWorkersOptions = {
  readonly database: Database
  readonly pool: UpstreamPool
  readonly clock: () => number
  /** Time a worker has to come back, and the silence after which a request is aborted. */
  readonly graceMs: number
  /** Called for each worker whose requests were aborted, with their number. */
  readonly onGivenUp: (entry: ViewedWorker, requests: number) => void
}

type Lost = { readonly entry: ViewedWorker; readonly sinceMs: number; asking: boolean }

/** A worker that is computing still answers a health check immediately. */
const maxAnswerMs = 3_000

/**
 * An expired lease alone is no proof: a worker that is computing may only have lost its connection
 * to us. So requests are failed only if three things agree: the lease ran out without being
 * returned, the worker does not answer on a new connection, and the request has received no byte
 * for as long.
 */
export class LostWorkers implements UnlistedWatch {
  readonly #options: LostWorkersOptions
  readonly #judging = new Set<Promise<void>>()
  #lost = new Map<string, Lost>()

  constructor(options: LostWorkersOptions) {
    this.#options = options
  }

  /** The entry of a lost worker that came back: its requests still count. */
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

  /** Waits for checks in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#judging)
  }

  #startJudging(lost: Lost): void {
    lost.asking = true
    const judging = this.#judge(lost)
      // What cannot be checked now is checked with the next view.
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
    // A worker that deregistered finishes its answers and no longer accepts connections.
    if (!(await hasLapsed(database, id))) return
    if (await answersAt(pool, url, Math.min(maxAnswerMs, graceMs))) return
    // It may have come back in the meantime.
    if (this.#lost.get(id)?.entry !== entry) return
    const requests = pool.giveUp(url, graceMs)
    if (requests > 0) onGivenUp(entry, requests)
  }
}

/** Whether anything answers on a new connection: an old one may be dead while the worker is not. */
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
