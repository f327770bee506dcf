/** One SQL over two homes: PGlite inside this process, or a PostgreSQL server. */

/** Columns arrive as: text string, int8 and numeric number, timestamptz Date, bytea bytes, jsonb parsed. */
export type Row = Record<string, unknown>

export interface Queries {
  /** Runs one statement; values stand for `$1`, `$2`, … and are never spliced into the text. */
  query<R extends Row>(sql: string, values?: readonly unknown[]): Promise<R[]>
  /** Runs several statements without values; for migrations. */
  script(sql: string): Promise<void>
}

export interface Database extends Queries {
  /**
   * All or nothing. `work` may run again after a deadlock or a serialisation failure, so it has no
   * effect beside its queries.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Where the state lives; `directory` is made if it is missing. */
export type DatabaseHome =
  | { readonly kind: 'embedded'; readonly directory: string }
  | { readonly kind: 'server'; readonly url: string; readonly connections: number }

/** One change of the schema. */
export type Migration = { readonly name: string; readonly sql: string }
