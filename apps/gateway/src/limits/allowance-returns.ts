/**
 * Returns allowance to the database in batches.
 *
 * What a request took goes back to the slots that it came from, a while after the request ended: by
 * then the database counts the tokens that the worker reported. It is never used again here without
 * asking the database, because these tokens are not known here.
 */
import type { Queries } from '../state/database.ts'
import type { Share } from './allowance.ts'
import { DueQueue } from './due-queue.ts'

export type AllowanceReturnsOptions = {
  readonly database: Queries
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** A worker reports within this time; until then the estimate counts in place of the real tokens. */
const reportMs = 500
/** The embedded database runs one statement at a time: none may take long. */
const maxBatch = 200

export class AllowanceReturns {
  readonly #database: Queries
  readonly #ended: DueQueue<readonly Share[]>

  constructor({ database, clock }: AllowanceReturnsOptions) {
    this.#database = database
    this.#ended = new DueQueue(clock, reportMs)
  }

  /** Returns what a request took, once its real usage has had time to arrive. */
  later(shares: readonly Share[]): void {
    this.#ended.add(shares)
  }

  /** Returns idle allowance and what is due. */
  async flush(idle: readonly Share[]): Promise<void> {
    const sums = sumBySlot([...idle, ...this.#ended.takeDue().flat()])
    for (let start = 0; start < sums.length; start += maxBatch) {
      await this.#return(sums.slice(start, start + maxBatch))
    }
  }

  async #return(shares: readonly Share[]): Promise<void> {
    try {
      // In the same order as usage is charged, so that no two transactions wait for each other.
      await this.#database.query(
        `select adjust_allowance(subject, kind, slot, -amount) from (
           select * from jsonb_to_recordset($1::jsonb)
             as r(subject text, kind text, slot bigint, amount bigint)
           order by kind, subject, slot) as ordered`,
        [JSON.stringify(shares)],
      )
    } catch {
      // Not tried again, as it may have happened: what is not returned is free after a minute.
    }
  }
}

function sumBySlot(shares: readonly Share[]): Share[] {
  const sums = new Map<string, Share>()
  for (const share of shares) {
    const id = `${share.kind} ${share.subject} ${share.slot}`
    sums.set(id, { ...share, amount: share.amount + (sums.get(id)?.amount ?? 0) })
  }
  return [...sums.values()]
}
