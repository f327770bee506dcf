/** Reasons why a worker does not start or cannot produce evidence. */

export type WorkerErrorCode =
  | 'settings_invalid'
  /** The model server is unreachable, or must not be used. */
  | 'engine_unusable'
  | 'no_confidential_hardware'
  | 'identity_unreadable'
  /** The kernel or the device produced no report. */
  | 'report_unavailable'
  /** Another program wrote to our entry: the report may not cover our input. */
  | 'report_conflict'
  | 'gpu_evidence_unavailable'
  | 'collateral_unavailable'
  /** The queue is full. */
  | 'evidence_overloaded'

export class WorkerError extends Error {
  override readonly name = 'WorkerError'
  readonly code: WorkerErrorCode

  constructor(code: WorkerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
