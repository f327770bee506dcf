/** Keeps the vendors' documents: refreshed before they end, the last good one kept until it does. */
import type { Bytes } from '@privatemode/protocol/envelope'
import { describeError, type Log } from '@privatemode/service'
import type { CollateralFolder } from './collateral-folder.ts'
import type { CollateralItem } from './collateral-item.ts'

export type CollateralCacheOptions = {
  readonly now: () => Date
  readonly log: Log
  /** Keeps documents over a restart. */
  readonly folder?: CollateralFolder | undefined
}

type Kept = { readonly document: Bytes; readonly fetchedAtMs: number; readonly endMs: number }

type Entry = {
  readonly item: CollateralItem
  kept: Kept | undefined
  /** After a failure the vendor is left alone until then. */
  retryAtMs: number
  /** What is under way: the folder's copy, or the vendor's answer. */
  loading: Promise<void> | undefined
  refreshing: Promise<void> | undefined
}

const maxEntries = 512
const retryPauseMs = 60_000
const lookAroundMs = 60_000

export class CollateralCache {
  readonly #options: CollateralCacheOptions
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(options: CollateralCacheOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.refreshDue(), lookAroundMs)
    this.#timer.unref()
  }

  /**
   * The document, where there is one that holds. Waits for the vendor only where there is none,
   * together with everybody else who asks; answers `undefined` where the vendor gives none.
   */
  async get(item: CollateralItem): Promise<Bytes | undefined> {
    const entry = this.#entryOf(item)
    entry.loading ??= this.#load(entry)
    await entry.loading
    if (!this.#holds(entry)) await this.#refresh(entry)
    else if (this.#isDue(entry)) this.#refresh(entry).catch(() => {})
    return this.#holds(entry) ? entry.kept?.document : undefined
  }

  /** Refreshes in the background whatever is due; the clock calls it, and tests do. */
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

  /** Due at half of its time, or when it is as old as its kind may get. */
  #isDue({ item, kept }: Entry): boolean {
    if (kept === undefined || item.refreshAfterMs === undefined) return false
    const halfMs = (kept.endMs - kept.fetchedAtMs) / 2
    return this.#nowMs() >= kept.fetchedAtMs + Math.min(halfMs, item.refreshAfterMs)
  }

  /** One request to the vendor for many who ask. */
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
      // A mirror may lag behind: what ends sooner than what we have is not news.
      if (this.#holds(entry) && kept.endMs < (entry.kept?.endMs ?? 0)) {
        entry.retryAtMs = fetchedAtMs + retryPauseMs
        log.debug('collateral from the vendor is older than ours', { part: item.name })
        return
      }
      entry.kept = kept
      if (!this.#holds(entry)) {
        entry.retryAtMs = fetchedAtMs + retryPauseMs
        log.warn('collateral from the vendor has ended', { part: item.name })
        return
      }
      await this.#store(item, document, fetchedAtMs)
    } catch (error) {
      entry.retryAtMs = this.#nowMs() + retryPauseMs
      const outcome = this.#holds(entry) ? 'the last one still holds' : 'it is left out'
      log.warn('collateral could not be had', { part: item.name, outcome, ...describeError(error) })
    }
  }

  async #store({ name }: CollateralItem, document: Bytes, fetchedAtMs: number): Promise<void> {
    try {
      await this.#options.folder?.write(name, document, fetchedAtMs)
    } catch (error) {
      this.#options.log.warn('collateral could not be stored', {
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
