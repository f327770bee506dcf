/** The one error class of this package; act on `code`, show `message`. */
export type ServiceErrorCode =
  | 'flag_invalid'
  | 'file_unreadable'
  | 'file_unwritable'
  | 'output_unusable'
  | 'certificate_unusable'
  | 'body_too_large'
  | 'body_encoding_unsupported'
  | 'body_encoding_broken'
  | 'body_interrupted'
  | 'unknown_authority'
  | 'certificate_refused'
  | 'host_unknown'
  | 'connection_refused'
  | 'connection_lost'
  | 'tunnel_refused'
  | 'timeout'
  | 'aborted'

export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ServiceErrorCode

  constructor(code: ServiceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
