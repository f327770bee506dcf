/** Errors of the portal's build. */
export type PortalErrorCode = 'build_failed'

export class PortalError extends Error {
  override readonly name = 'PortalError'
  readonly code: PortalErrorCode

  constructor(code: PortalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
