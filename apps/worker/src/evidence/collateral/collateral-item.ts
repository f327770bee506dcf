/** One vendor document: its name, how it is fetched, and how long it may be presented. */
import type { Bytes } from '@privatemode/protocol/envelope'

export type CollateralItem = {
  /** For logs and as the cache key: `amd crl Genoa`. */
  readonly name: string
  /** Refreshed at this age even if still valid; undefined for documents that never change. */
  readonly refreshAfterMs: number | undefined
  /** Throws if the vendor does not supply it. */
  fetch(): Promise<Bytes>
  /**
   * When the document expires; undefined if it states no expiry. Throws if it is not such a
   * document.
   */
  readEnd(document: Bytes, fetchedAt: Date): Date | undefined
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
