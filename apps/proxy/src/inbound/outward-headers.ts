/** Which headers the proxy forwards in either direction; all others are dropped. */
import type { HeaderLookup } from '@privatemode/http'

/** Headers an application may send besides the body. Agents put paths and user data into other headers. */
const outward = ['anthropic-version', 'anthropic-beta'] as const

/** Headers a worker may send to an application. */
const inward = [
  'content-type',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'deprecation',
  'sunset',
  'link',
  'warning',
] as const

const longestValue = 1024
const none: Readonly<Record<string, string>> = Object.freeze({})

export function pickOutward(headers: HeaderLookup): Readonly<Record<string, string>> {
  let picked: Record<string, string> | undefined
  for (const name of outward) {
    const value = headers.get(name)
    if (value === null || value === undefined || value.length > longestValue) continue
    picked ??= {}
    picked[name] = value
  }
  return picked ?? none
}

export function pickInward(headers: Readonly<Record<string, string>>): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const name of inward) {
    const value = headers[name]
    // One line each: a worker is trusted with prompts, not with the framing of our responses.
    if (value !== undefined && /^[\t\x20-\x7e]*$/.test(value)) picked[name] = value
  }
  return picked
}
