/** This gateway's view of the live workers: the database's, refreshed, plus its own requests. */
import { FairShare } from '@privatemode/service'
import type { Database } from '../state/database.ts'
import { type LiveWorker, listLive } from './worker-store.ts'

/** A worker with this gateway's own load on it. */
export type ViewedWorker = {
  readonly worker: LiveWorker
  /** Requests for its evidence in progress. */
  readonly attestations: FairShare
  /** Requests of this gateway that the worker currently holds, counted by the relay. */
  readonly shares: FairShare
  /** Their number when the worker's own count was last read. */
  inFlightAtReport: number
  /** Until then (monotonic ms), it is only tried if no other candidate is left. */
  suspectUntilMs: number
}

/** Watches workers that left the view while holding requests of ours. */
export interface UnlistedWatch {
  find(id: string): ViewedWorker | undefined
  entries(): readonly ViewedWorker[]
  /** Receives all unlisted workers with each new view. */
  follow(unlisted: readonly ViewedWorker[]): void
  close(): Promise<void>
}

export type WorkerViewOptions = {
  readonly database: Database
  readonly clock: () => number
  readonly refreshMs: number
  readonly suspectMs: number
  readonly lost: UnlistedWatch
  /** Called for each failed refresh; the old view stays in use. */
  readonly onFailure: (error: unknown) => void
}

export class WorkerView {
  readonly #options: WorkerViewOptions
  #workers = new Map<string, ViewedWorker>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #refreshing: Promise<void> | undefined
  #closed = false

  constructor(options: WorkerViewOptions) {
    this.#options = options
  }

  /** Reads once, then periodically until `close`. */
  async start(): Promise<void> {
    await this.refresh()
    this.#schedule()
  }

  find(id: string): ViewedWorker | undefined {
    return this.#workers.get(id)
  }

  list(): readonly LiveWorker[] {
    return [...this.#workers.values()].map((entry) => entry.worker)
  }

  /** Ranks a worker that did not answer behind the others for a while. */
  suspect(entry: ViewedWorker): void {
    entry.suspectUntilMs = this.#options.clock() + this.#options.suspectMs
  }

  /** Joins a refresh that is already running. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#refreshing?.catch(() => undefined)
    await this.#options.lost.close()
  }

  async #read(): Promise<void> {
    const { database, lost } = this.#options
    const live = await listLive(database)
    const next = new Map<string, ViewedWorker>()
    for (const worker of live) {
      const old = this.#workers.get(worker.id) ?? lost.find(worker.id)
      next.set(worker.id, merge(old, worker))
    }
    const known = [...this.#workers.values(), ...lost.entries()]
    this.#workers = next
    if (!this.#closed) lost.follow(known.filter(({ worker }) => !next.has(worker.id)))
  }

  #schedule(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.refresh()
        .catch(this.#options.onFailure)
        .finally(() => this.#schedule())
    }, this.#options.refreshMs)
  }
}

/** Requests in progress hold the old entry, so the object is kept to share its counters. */
function merge(old: ViewedWorker | undefined, worker: LiveWorker): ViewedWorker {
  if (old === undefined) {
    const [shares, attestations] = [new FairShare(), new FairShare()]
    return { worker, shares, attestations, inFlightAtReport: 0, suspectUntilMs: 0 }
  }
  // The same lease read again is the same report: requests we sent since still add to its count.
  const sameReport = old.worker.leaseUntil.getTime() === worker.leaseUntil.getTime()
  return Object.assign(old, {
    worker,
    inFlightAtReport: sameReport ? old.inFlightAtReport : old.shares.total,
  })
}
