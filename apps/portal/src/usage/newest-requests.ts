/** Reads the newest requests of a time range, page by page. */
import type { BilledRequest } from '@privatemode/protocol/fleet'

export type RequestPage = {
  readonly requests: readonly BilledRequest[]
  readonly next: string | null
}

export type NewestRequests = {
  readonly requests: readonly BilledRequest[]
  /** There are older ones in the range, which were not read. */
  readonly isCut: boolean
}

export async function readNewest(
  maxPages: number,
  readPage: (after: string | null) => Promise<RequestPage>,
): Promise<NewestRequests> {
  const requests: BilledRequest[] = []
  let after: string | null = null
  for (let page = 0; page < maxPages; page++) {
    const answer = await readPage(after)
    requests.push(...answer.requests)
    after = answer.next
    if (after === null) return { requests, isCut: false }
  }
  return { requests, isCut: true }
}
