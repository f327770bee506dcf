/** Why a model could not be provided; each message ends with what to do about it. */

export type ModelErrorCode =
  | 'model_unknown'
  | 'cache_unusable'
  | 'disk_full'
  | 'npm_missing'
  | 'download_failed'
  | 'source_malformed'
  | 'hash_mismatch'
  | 'aborted'

export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly code: ModelErrorCode

  constructor(code: ModelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Explains file system errors; returns a ModelError unchanged. */
export function explainFailure(error: unknown, folder: string): ModelError {
  if (error instanceof ModelError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new ModelError(
        'disk_full',
        `the disk of ${folder} is full: free some space, then start again`,
        {
          cause: error,
        },
      )
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
      return new ModelError(
        'cache_unusable',
        `cannot write to ${folder} (${code}): make it a folder this user may write to, or choose another`,
        { cause: error },
      )
    case 'ABORT_ERR':
      return new ModelError(
        'aborted',
        'stopped before the model was ready: start again to continue',
        {
          cause: error,
        },
      )
    default:
      return new ModelError(
        'cache_unusable',
        `could not prepare the model in ${folder} (${code || describe(error)}): remove that folder, then start again`,
        { cause: error },
      )
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new ModelError('aborted', 'stopped before the model was ready: start again to continue')
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : 'no reason')
