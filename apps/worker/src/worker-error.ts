/** Why a worker does not start. */

export type WorkerErrorCode =
  | 'settings_invalid'
  | 'no_confidential_hardware'
  | 'identity_unreadable'

export class WorkerError extends Error {
  override readonly name = 'WorkerError'
  readonly code: WorkerErrorCode

  constructor(code: WorkerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
