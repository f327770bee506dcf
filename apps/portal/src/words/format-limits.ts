/** Limits of a key or an account in words. */
import { formatShort } from './format-time.ts'

export type LimitNumbers = {
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly tokens_per_month: number | null
  readonly concurrent_streams: number | null
}

export const limitNames: readonly (readonly [keyof LimitNumbers, string])[] = [
  ['requests_per_minute', 'Requests per minute'],
  ['tokens_per_minute', 'Tokens per minute'],
  ['tokens_per_month', 'Tokens per month'],
  ['concurrent_streams', 'Streams at once'],
]

/** Only limits that are set: `60 requests per minute`. */
export function formatLimitList(limits: LimitNumbers): readonly string[] {
  return limitNames.flatMap(([field, name]) => {
    const value = limits[field]
    return value === null ? [] : [`${formatShort(value)} ${name.toLowerCase()}`]
  })
}
