/** Describes an error: what happened, and what to do next. */

export type Described = { readonly reason: string; readonly next: string }

/** The common fields of API and SDK errors. */
type Coded = {
  readonly code: string
  readonly message: string
  readonly status?: number | undefined
  readonly retryAfterSeconds?: number | undefined
}

export function describeFailure(error: unknown): Described {
  if (!isCoded(error)) {
    return {
      reason: 'something unexpected happened',
      next: 'Reload the page. If it happens again, tell the operator what you did.',
    }
  }
  return { reason: error.message, next: nextStep(error) }
}

function nextStep(error: Coded): string {
  switch (error.code) {
    case 'gateway_unreachable':
      return 'Check your network. If other pages work, the gateway may be restarting: try again in a moment.'
    case 'rate_limit_exceeded':
      return error.retryAfterSeconds === undefined
        ? 'Wait a little and try again.'
        : `Try again in ${error.retryAfterSeconds} seconds.`
    case 'insufficient_quota':
      return 'The monthly limit of this key or account is used up. An admin can raise it.'
    case 'overloaded':
    case 'timeout':
    case 'worker_unreachable':
    case 'engine_failed':
    case 'upstream_error':
      return 'Try again in a moment.'
    case 'no_worker':
      return 'No machine serves this at the moment. Try again in a moment, or ask the operator.'
    case 'permission_denied':
      return error.status === 401
        ? 'Check what you entered. After several wrong attempts you have to wait.'
        : 'Ask an admin of your account to do this, or to give you the role.'
    case 'invalid_api_key':
      return 'The key was revoked, has expired or was changed. Reload the page to get a fresh one.'
    case 'not_found':
    case 'model_not_found':
      return 'It may have been removed meanwhile. Reload the page.'
    case 'attestation_refused':
    case 'response_not_authentic':
    case 'receipt_invalid':
      return 'Nothing was sent that could be read. Look at the verification page, and tell the operator.'
    case 'context_length_exceeded':
      return 'The conversation is too long for this model. Clear it, or choose another model.'
    case 'unsupported_parameter':
      return 'Choose another model, or leave out what this one does not take.'
    case 'invalid_value':
    case 'missing_parameter':
      return 'Change what you entered and try again.'
    default:
      return 'Reload the page. If it happens again, tell the operator.'
  }
}

function isCoded(error: unknown): error is Coded {
  if (!(error instanceof Error)) return false
  return typeof (error as { code?: unknown }).code === 'string'
}
