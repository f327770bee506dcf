/** Errors of the public API: one closed set of codes, formatted in the caller's dialect. */
import type { Dialect } from './routes.ts'

type Traits = { readonly status: number; readonly type: string; readonly retryable: boolean }

const error = (status: number, type: string, retryable: boolean): Traits => ({
  status,
  type,
  retryable,
})
const invalid = (status: number, retryable = false) =>
  error(status, 'invalid_request_error', retryable)
const server = (status: number, retryable = true) => error(status, 'server_error', retryable)

const traits = {
  invalid_json: invalid(400),
  invalid_value: invalid(400),
  missing_parameter: invalid(400),
  unsupported_parameter: invalid(400),
  unsupported_value: invalid(400),
  context_length_exceeded: invalid(400),
  malformed: invalid(400),
  stale_request: invalid(400, true),
  invalid_api_key: invalid(401),
  permission_denied: error(403, 'permission_error', false),
  not_found: invalid(404),
  model_not_found: invalid(404),
  worker_unknown: invalid(404, true),
  method_not_allowed: invalid(405),
  unknown_key: invalid(409, true),
  replayed: invalid(409),
  request_too_large: invalid(413),
  unsupported_media_type: invalid(415),
  rate_limit_exceeded: error(429, 'rate_limit_error', true),
  insufficient_quota: error(429, 'insufficient_quota', false),
  internal_error: server(500),
  workspace_unwritable: server(500),
  engine_failed: server(500),
  attestation_refused: server(502, false),
  response_not_authentic: server(502),
  worker_unreachable: server(502),
  gateway_unreachable: server(502),
  upstream_error: server(502),
  answer_too_large: server(502, false),
  overloaded: server(503),
  engine_unavailable: server(503),
  no_worker: server(503),
  timeout: server(504),
} as const satisfies Record<string, Traits>

/** The closed set of API error codes. Act on these, never on messages. */
export type ApiErrorCode = keyof typeof traits

export type ApiErrorOptions = ErrorOptions & {
  param?: string | undefined
  status?: number | undefined
  type?: string | undefined
  retryable?: boolean | undefined
  retryAfterSeconds?: number | undefined
}

/** An error that may be shown to the caller: its message never contains a prompt, key or salt. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ApiErrorCode
  readonly status: number
  readonly type: string
  readonly param: string | undefined
  readonly retryable: boolean
  readonly retryAfterSeconds: number | undefined

  constructor(code: ApiErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options)
    const own = traits[code]
    this.code = code
    this.status = options.status ?? own.status
    this.type = options.type ?? own.type
    this.param = options.param
    this.retryable = options.retryable ?? own.retryable
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

export type WireError = { status: number; headers: Record<string, string>; body: string }

/** Formats an error as a complete response in the caller's dialect. */
export function formatError(dialect: Dialect, error: ApiError, requestId: string): WireError {
  const status = statusIn(dialect, error)
  const body = JSON.stringify(formatErrorBody(dialect, error, requestId))
  return { status, headers: errorHeaders(error, status, requestId), body }
}

/**
 * Formats the body only. It also appears inside streams, as `data: {"error": …}` or `event: error`.
 */
export function formatErrorBody(
  dialect: Dialect,
  error: ApiError,
  requestId: string,
): Record<string, unknown> {
  switch (dialect) {
    case 'openai':
      return { error: openAiError(error) }
    case 'anthropic':
      return {
        type: 'error',
        error: { type: anthropicType(error), message: error.message },
        request_id: requestId,
      }
  }
}

/**
 * Formats the clear-text error sent between client, gateway and worker, including whether a retry
 * is safe.
 */
export function formatRelayError(error: ApiError, requestId: string): WireError {
  const body = JSON.stringify({ error: { ...openAiError(error), retryable: error.retryable } })
  return { status: error.status, headers: errorHeaders(error, error.status, requestId), body }
}

/**
 * Parses an error whose text is trusted: one a worker sealed or sent to the gateway, or one the
 * portal receives from its own gateway. The text is still truncated and stripped of control
 * characters, and an unknown code becomes `upstream_error`. Clients read unsealed errors with
 * `parseUnsealedError`.
 */
export function parseRelayError(
  status: number,
  body: string,
  retryAfter: string | null | undefined,
): ApiError {
  const error = readErrorObject(body)
  const code = typeof error?.code === 'string' && isCode(error.code) ? error.code : undefined
  const seconds = Number(retryAfter ?? Number.NaN)
  return new ApiError(
    code ?? 'upstream_error',
    plainText(error?.message) ?? `upstream answered status ${status}`,
    {
      param: plainText(error?.param),
      status: status >= 400 && status <= 599 ? status : undefined,
      retryable: typeof error?.retryable === 'boolean' ? error.retryable : undefined,
      retryAfterSeconds: seconds >= 0 && seconds <= 3600 ? seconds : undefined,
    },
  )
}

/** Anthropic's clients expect 529 where we use 503: it is the status they back off on. */
function statusIn(dialect: Dialect, error: ApiError): number {
  return dialect === 'anthropic' && error.status === 503 ? 529 : error.status
}

function openAiError(error: ApiError): Record<string, unknown> {
  return { message: error.message, type: error.type, param: error.param ?? null, code: error.code }
}

function anthropicType(error: ApiError): string {
  switch (error.status) {
    case 401:
      return 'authentication_error'
    case 403:
      return 'permission_error'
    case 404:
      return 'not_found_error'
    case 413:
      return 'request_too_large'
    case 429:
      return 'rate_limit_error'
    case 503:
    case 529:
      return 'overloaded_error'
    case 504:
      return 'timeout_error'
  }
  return error.status >= 500 ? 'api_error' : 'invalid_request_error'
}

const waitStatuses: ReadonlySet<number> = new Set([429, 503, 529])

function errorHeaders(error: ApiError, status: number, requestId: string): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-request-id': requestId,
    'request-id': requestId,
  }
  if (waitStatuses.has(status)) headers['retry-after'] = String(error.retryAfterSeconds ?? 1)
  // The official clients retry 408, 409, 429 and every 5xx unless this header forbids it.
  if (!error.retryable) headers['x-should-retry'] = 'false'
  return headers
}

type ErrorObject = { message?: unknown; param?: unknown; code?: unknown; retryable?: unknown }

export function readErrorObject(body: string): ErrorObject | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    if (typeof parsed !== 'object' || parsed === null || !('error' in parsed)) return undefined
    return typeof parsed.error === 'object' && parsed.error !== null ? parsed.error : undefined
  } catch {
    return undefined // not JSON: only the status is left to go by
  }
}

function isCode(code: string): code is ApiErrorCode {
  return Object.hasOwn(traits, code)
}

function plainText(text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  return text.slice(0, 500).replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}

/** Maps a status to a code, for errors that carry no code: all errors in Anthropic's dialect. */
export function codeOfStatus(status: number): ApiErrorCode {
  switch (status) {
    case 400:
    case 422:
      return 'invalid_value'
    case 401:
      return 'invalid_api_key'
    case 403:
      return 'permission_denied'
    case 404:
      return 'not_found'
    case 413:
      return 'request_too_large'
    case 429:
      return 'rate_limit_exceeded'
    case 500:
      return 'internal_error'
    case 503:
    case 529:
      return 'overloaded'
    case 504:
      return 'timeout'
  }
  return 'upstream_error'
}
