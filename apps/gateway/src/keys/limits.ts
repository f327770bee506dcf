/** The limits of a key or an account; `null` means unlimited. */
import { ApiError } from '@privatemode/protocol/api'

export type Limits = {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly tokensPerMonth: number | null
  readonly concurrentStreams: number | null
}

/** The same on the wire and in database columns. */
export type LimitsWire = {
  requests_per_minute: number | null
  tokens_per_minute: number | null
  tokens_per_month: number | null
  concurrent_streams: number | null
}

export const noLimits: Limits = Object.freeze({
  requestsPerMinute: null,
  tokensPerMinute: null,
  tokensPerMonth: null,
  concurrentStreams: null,
})

export const limitColumns =
  'requests_per_minute, tokens_per_minute, tokens_per_month, concurrent_streams'

export function readLimits(row: LimitsWire): Limits {
  return {
    requestsPerMinute: row.requests_per_minute,
    tokensPerMinute: row.tokens_per_minute,
    tokensPerMonth: row.tokens_per_month,
    concurrentStreams: row.concurrent_streams,
  }
}

export function formatLimits(limits: Limits): LimitsWire {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    tokens_per_month: limits.tokensPerMonth,
    concurrent_streams: limits.concurrentStreams,
  }
}

/** Limits from a caller: a missing or null field means unlimited, an unknown one is refused. */
export function parseLimits(value: unknown): Limits {
  if (value === undefined || value === null) return noLimits
  if (typeof value !== 'object' || Array.isArray(value)) throw refuse('limits', 'an object')
  const given = value as Partial<Record<keyof LimitsWire, unknown>>
  for (const name of Object.keys(given)) {
    if (!limitColumns.split(', ').includes(name)) throw refuse(`limits.${name}`, 'a known limit')
  }
  return {
    requestsPerMinute: parseLimit('requests_per_minute', given.requests_per_minute),
    tokensPerMinute: parseLimit('tokens_per_minute', given.tokens_per_minute),
    tokensPerMonth: parseLimit('tokens_per_month', given.tokens_per_month),
    concurrentStreams: parseLimit('concurrent_streams', given.concurrent_streams),
  }
}

function parseLimit(name: keyof LimitsWire, value: unknown): number | null {
  if (value === undefined || value === null) return null
  // 10^15 keeps sums below 2^53.
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e15) {
    return value
  }
  throw refuse(`limits.${name}`, 'null or a whole number from 0 to 10^15')
}

function refuse(param: string, expected: string): ApiError {
  return new ApiError('invalid_value', `${param} must be ${expected}`, { param })
}
