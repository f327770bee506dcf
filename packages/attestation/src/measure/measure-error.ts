/** Why a measurement could not be computed. */

export type MeasureErrorCode =
  | 'firmware_malformed'
  | 'kernel_malformed'
  | 'event_log_malformed'
  | 'launch_unsupported'

export class MeasureError extends Error {
  override readonly name = 'MeasureError'
  readonly code: MeasureErrorCode

  constructor(code: MeasureErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
