/** Messages between the gateway and the thread of its embedded database. */
import type { Row } from './database.ts'

export type ThreadData = {
  readonly directory: string
  /** PGlite, compiled. */
  readonly module: WebAssembly.Module
}

/** `transaction` is the id of the message that began it. */
export type Ask =
  | {
      readonly kind: 'query'
      readonly sql: string
      readonly values: readonly unknown[]
      readonly transaction?: number | undefined
    }
  | { readonly kind: 'script'; readonly sql: string; readonly transaction?: number | undefined }
  | { readonly kind: 'begin' }
  | { readonly kind: 'commit' | 'rollback'; readonly transaction: number }
  | { readonly kind: 'close' }

export type Asked = Ask & { readonly id: number }

export type Reply =
  /** The database is open. */
  | { readonly kind: 'opened' }
  | { readonly kind: 'done'; readonly id: number; readonly rows: readonly Row[] }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: Failure }
  /** PGlite itself broke: nothing it says from now on can be trusted. */
  | { readonly kind: 'broken'; readonly failure: Failure }

/** An error as it travels: the runtime's copy of one would lose its code. */
export type Failure = {
  readonly name: string
  readonly message: string
  /** The SQLSTATE, if it is an error of the database. */
  readonly code: string | undefined
}

export function describeFailure(error: unknown): Failure {
  if (!(error instanceof Error))
    return { name: 'unknown', message: 'unknown failure', code: undefined }
  const { name, message } = error
  const code = (error as { code?: unknown }).code
  return { name, message, code: typeof code === 'string' ? code : undefined }
}
