/**
 * Caches the vendors' documents: refreshed before they expire, the last good one kept until it
 * does.
 */
import type { Bytes } from '@privatemode/protocol/envelope'
import { describeError, type Log } from '@privatemode/service'
import type { CollateralFolder } from './collateral-folder.ts'
import type { CollateralItem } from './collateral-item.ts'

export type CollateralCacheOptions = {
  readonly now: () => Date
  readonly log: Log
  /** Keeps documents across restarts. */
  readonly folder?: CollateralFolder | undefined
}

type Kept = { readonly document: Bytes; readonly fetchedAtMs: number; readonly endMs: number }

type Entry = {
  readonly item: CollateralItem
  kept: Kept | undefined
  /** After a failure, the vendor is not contacted before this time. */
  retryAtMs: number
  /** The load in progress: the stored copy, or the vendor's answer. */
  loading: Promise<void> | undefined
  refreshing: Promise<void> | undefined
}

const maxEntries = 512
const retryPauseMs = 60_000
const lookAroundMs = 60_000

export class CollateralCache {
  readonly #options: CollateralCacheOptions
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(options: CollateralCacheOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.refreshDue(), lookAroundMs)
    this.#timer.unref()
  }

  /**
   * Returns a valid document, if there is one. Waits for the vendor only if none is cached, sharing
   * the request with all concurrent callers; `undefined` if the vendor has none.
   */
  async get(item: CollateralItem): Promise<Bytes | undefined> {
    const entry = this.#entryOf(item)
    entry.loading ??= this.#load(entry)
    await entry.loading
    if (!this.#holds(entry)) await this.#refresh(entry)
    else if (this.#isDue(entry)) this.#refresh(entry).catch(() => {})
    return this.#holds(entry) ? entry.kept?.document : undefined
  }

  /** Refreshes all due documents in the background; called by the timer, and by tests. */
  refreshDue(): void {
    for (const entry of this.#entries.values()) {
      if (this.#isDue(entry)) this.#refresh(entry).catch(() => {})
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #entryOf(item: CollateralItem): Entry {
    const known = this.#entries.get(item.name)
    const entry = known ?? {
      item,
      kept: undefined,
      retryAtMs: 0,
      loading: undefined,
      refreshing: undefined,
    }
    this.#entries.delete(item.name)
    this.#entries.set(item.name, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest)
    return entry
  }

  #holds({ kept }: Entry): boolean {
    return kept !== undefined && this.#nowMs() < kept.endMs
  }

  /** Due after half its lifetime, or at the maximum age for its kind. */
  #isDue({ item, kept }: Entry): boolean {
    if (kept === undefined || item.refreshAfterMs === undefined) return false
    const halfMs = (kept.endMs - kept.fetchedAtMs) / 2
    return this.#nowMs() >= kept.fetchedAtMs + Math.min(halfMs, item.refreshAfterMs)
  }

  /** One request to the vendor for all concurrent callers. */
  #refresh(entry: Entry): Promise<void> {
    if (entry.refreshing === undefined && this.#nowMs() < entry.retryAtMs) return Promise.resolve()
    entry.refreshing ??= this.#fetch(entry).finally(() => {
      entry.refreshing = undefined
    })
    return entry.refreshing
  }

  async #fetch(entry: Entry): Promise<void> {
    const { item } = entry
    const { log } = this.#options
    try {
      const document = await item.fetch()
      const fetchedAtMs = this.#nowMs()
      const kept = keep(item, document, fetchedAtMs)
      // A mirror may lag behind: a document that expires sooner than ours is not newer.
      if (this.#holds(entry) && kept.endMs < (entry.kept?.endMs ?? 0)) {
        entry.retryAtMs = fetchedAtMs + retryPauseMs
        log.debug('collateral from the vendor is older than ours', { part: item.name })
        return
      }
      entry.kept = kept
      if (!this.#holds(entry)) {
        entry.retryAtMs = fetchedAtMs + retryPauseMs
        log.warn('collateral from the vendor has expired', { part: item.name })
        return
      }
      await this.#store(item, document, fetchedAtMs)
    } catch (error) {
      entry.retryAtMs = this.#nowMs() + retryPauseMs
      const outcome = this.#holds(entry) ? 'using the last valid one' : 'left out'
      log.warn('failed to fetch collateral', { part: item.name, outcome, ...describeError(error) })
    }
  }

  async #store({ name }: CollateralItem, document: Bytes, fetchedAtMs: number): Promise<void> {
    try {
      await this.#options.folder?.write(name, document, fetchedAtMs)
    } catch (error) {
      this.#options.log.warn('failed to store collateral', {
        part: name,
        ...describeError(error),
      })
    }
  }

  async #load(entry: Entry): Promise<void> {
    const { item } = entry
    try {
      const stored = await this.#options.folder?.read(item.name)
      if (stored === undefined || stored.fetchedAtMs > this.#nowMs()) return
      entry.kept = keep(item, stored.document, stored.fetchedAtMs)
    } catch (error) {
      this.#options.log.warn('stored collateral is unusable', {
        part: item.name,
        ...describeError(error),
      })
    }
  }

  #nowMs(): number {
    return this.#options.now().getTime()
  }
}

function keep(item: CollateralItem, document: Bytes, fetchedAtMs: number): Kept {
  const endMs = item.readEnd(document, new Date(fetchedAtMs))?.getTime() ?? Number.POSITIVE_INFINITY
  return { document, fetchedAtMs, endMs }
}
