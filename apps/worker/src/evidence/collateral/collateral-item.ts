/** One document of a vendor: how it is named, fetched, and how long it may be shown. */
import type { Bytes } from '@privatemode/protocol/envelope'

export type CollateralItem = {
  /** For people and as the key of the cache: `amd crl Genoa`. */
  readonly name: string
  /** Refreshed when it is this old, though it may hold for longer; undefined for what never changes. */
  readonly refreshAfterMs: number | undefined
  /** Throws where the vendor gives none. */
  fetch(): Promise<Bytes>
  /** Until when it holds; throws for what is not such a document. Undefined states no end. */
  readEnd(document: Bytes, fetchedAt: Date): Date | undefined
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
