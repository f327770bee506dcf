/** The error class for the gateway's own failures; callers see an `ApiError`. */
export type GatewayErrorCode =
  | 'data_dir_in_use'
  | 'data_dir_unsafe'
  | 'database_failed'
  | 'database_unreachable'
  | 'database_newer'
  | 'settings_contradict'

export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: GatewayErrorCode

  constructor(code: GatewayErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
