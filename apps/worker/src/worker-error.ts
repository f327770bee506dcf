/** Why a worker does not start, or cannot give evidence. */

export type WorkerErrorCode =
  | 'settings_invalid'
  /** The model server is not there, or may not be used. */
  | 'engine_unusable'
  | 'no_confidential_hardware'
  | 'identity_unreadable'
  /** The kernel or the device gave no report. */
  | 'report_unavailable'
  /** Somebody else wrote to our entry: what was read may not be what was asked for. */
  | 'report_conflict'
  | 'gpu_evidence_unavailable'
  | 'collateral_unavailable'
  /** As many wait already as may. */
  | 'evidence_overloaded'

export class WorkerError extends Error {
  override readonly name = 'WorkerError'
  readonly code: WorkerErrorCode

  constructor(code: WorkerErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
