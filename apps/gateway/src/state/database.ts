/** One SQL dialect for two backends: PGlite on a thread of this process, or a PostgreSQL server. */
import type { GatewayError } from '../gateway-error.ts'

/** Column types: text string, int8 and numeric number, timestamptz Date, bytea bytes, jsonb parsed. */
export type Row = Record<string, unknown>

export interface Queries {
  /** Runs one statement; values are bound to `$1`, `$2`, … and never spliced into the text. */
  query<R extends Row>(sql: string, values?: readonly unknown[]): Promise<R[]>
  /** Runs several statements without values; for migrations. */
  script(sql: string): Promise<void>
}

export interface Database extends Queries {
  /**
   * Atomic. `work` may run again after a deadlock or a serialization failure, so it must have no
   * effects other than its queries.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A statement whose reply was lost, for example in a failover, may still take effect until then. */
export const lateCommitMs = 40_000

/** Called once if the database is lost for good: every query fails from then on. */
export type OnLost = (error: GatewayError) => void

/** Where the state is stored; `directory` is created if missing. */
export type DatabaseHome =
  | { readonly kind: 'embedded'; readonly directory: string }
  | { readonly kind: 'server'; readonly url: string; readonly connections: number }

/** One schema change. */
export type Migration = { readonly name: string; readonly sql: string }
