/**
 * Lets web pages of any origin use the proxyless endpoint, with the key they send and no ambient
 * credentials.
 */
import type { HeaderLookup } from '@privatemode/http'

const exposed =
  'x-request-id, request-id, retry-after, retry-after-ms, x-should-retry, deprecation, sunset, link, warning'
const allowed: ReadonlySet<string> = new Set([
  'accept',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'anthropic-version',
  'authorization',
  'content-type',
  'idempotency-key',
  'openai-beta',
  'openai-organization',
  'openai-project',
  'x-api-key',
])

/** Sent with every response. No credentials are allowed, so a cookie can never act for the user. */
export const crossOriginHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
}

/** Answers a preflight (Fetch, CORS protocol): allows the requested headers that we know. */
export function answerPreflight(headers: HeaderLookup): Response {
  const asked = (headers.get('access-control-request-headers') ?? '').toLowerCase()
  const granted = asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => allowed.has(name) || /^x-stainless-[a-z-]{1,40}$/.test(name))
  return new Response(null, {
    status: 204,
    headers: {
      ...crossOriginHeaders,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': granted.join(', '),
      'access-control-max-age': '86400',
      vary: 'access-control-request-headers',
    },
  })
}
