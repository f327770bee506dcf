/** Converts any failure into the one error shown to the caller. */
import { MessageError } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import { AttestationError, refusedError } from '@privatemode/sdk'
import { ServiceError } from '@privatemode/service'

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof ServiceError) return fromService(error)
  if (error instanceof MessageError) return fromMessage(error)
  if (error instanceof AttestationError) return refusedError(error)
  return new ApiError(
    'internal_error',
    'the proxy failed to process this request; see its log for the reason',
    {
      cause: error,
    },
  )
}

/** The message is not a request, or is too large: its sender sees the status unchanged. */
function fromMessage(error: MessageError): ApiError {
  if (error.status === 413) {
    const remedy = 'start the proxy with a larger --bodyLimitMib to send more'
    return new ApiError('request_too_large', `${error.message}; ${remedy}`)
  }
  if (error.status === 503)
    return new ApiError('overloaded', error.message, { retryAfterSeconds: 1 })
  return new ApiError('malformed', error.message, { status: error.status })
}

function fromService(error: ServiceError): ApiError {
  const { message } = error
  switch (error.code) {
    case 'body_too_large':
      return new ApiError('request_too_large', message)
    case 'body_encoding_unsupported':
      return new ApiError('unsupported_media_type', message)
    case 'body_encoding_broken':
    case 'body_interrupted':
      return new ApiError('malformed', message)
    case 'timeout':
      return new ApiError('timeout', message, { cause: error })
    case 'unknown_authority':
    case 'certificate_refused':
      // A retry would meet the same certificate.
      return new ApiError('gateway_unreachable', message, { cause: error, retryable: false })
    case 'file_unwritable':
      return new ApiError('workspace_unwritable', message, { cause: error })
    case 'host_unknown':
    case 'connection_refused':
    case 'connection_lost':
    case 'tunnel_refused':
    case 'aborted':
    case 'flag_invalid':
    case 'file_unreadable':
    case 'certificate_unusable':
    case 'output_unusable':
      return new ApiError('gateway_unreachable', message, { cause: error })
  }
}
