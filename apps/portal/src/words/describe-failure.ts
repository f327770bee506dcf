/** Describes an error: what happened, and what to do next. */
import type { ApiErrorCode } from '@privatemode/protocol/api'

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

const inAMoment = 'Try again in a moment.'
const reload = 'Reload the page. If it happens again, tell the operator.'
const removed = 'It may have been removed meanwhile. Reload the page.'
const change = 'Change what you entered and try again.'
const chooseAnother = 'Choose another model, or leave out what this one does not take.'
const unverified =
  'Nothing was sent that could be read. Look at the verification page, and tell the operator.'

/** For every code that there is: the compiler reports one that is missing. */
const nextSteps: Readonly<
  Record<ApiErrorCode | 'receipt_invalid', string | ((error: Coded) => string)>
> = {
  invalid_json: reload,
  invalid_value: change,
  missing_parameter: change,
  unsupported_parameter: chooseAnother,
  unsupported_value: chooseAnother,
  context_length_exceeded:
    'The conversation is too long for this model. Clear it, or choose another model.',
  malformed: reload,
  stale_request: 'Check that the clock of this computer is right, and try again.',
  invalid_api_key:
    'The key was revoked, has expired or was changed. Reload the page to get a fresh one.',
  permission_denied: ({ status }) =>
    status === 401
      ? 'Check what you entered. After several wrong attempts you have to wait.'
      : 'Ask an admin of your account to do this, or to give you the role.',
  not_found: removed,
  model_not_found: removed,
  worker_unknown: inAMoment,
  method_not_allowed: reload,
  unknown_key: inAMoment,
  replayed: inAMoment,
  request_too_large: 'Leave something out, such as a picture, or start a new conversation.',
  unsupported_media_type: reload,
  rate_limit_exceeded: ({ retryAfterSeconds }) =>
    retryAfterSeconds === undefined
      ? 'Wait a little and try again.'
      : `Try again in ${retryAfterSeconds} seconds.`,
  insufficient_quota: 'The monthly limit of this key or account is used up. An admin can raise it.',
  internal_error: reload,
  workspace_unwritable: reload,
  engine_failed: inAMoment,
  attestation_refused: unverified,
  response_not_authentic: unverified,
  receipt_invalid: unverified,
  worker_unreachable: inAMoment,
  gateway_unreachable:
    'Check your network. If other pages work, the gateway may be restarting: try again in a moment.',
  upstream_error: inAMoment,
  answer_too_large: 'Ask for a shorter answer.',
  overloaded: inAMoment,
  engine_unavailable: inAMoment,
  no_worker: 'No machine serves this at the moment. Try again in a moment, or ask the operator.',
  timeout: inAMoment,
}

function nextStep(error: Coded): string {
  const step = Object.hasOwn(nextSteps, error.code)
    ? nextSteps[error.code as keyof typeof nextSteps]
    : reload
  return typeof step === 'string' ? step : step(error)
}

function isCoded(error: unknown): error is Coded {
  if (!(error instanceof Error)) return false
  return typeof (error as { code?: unknown }).code === 'string'
}
