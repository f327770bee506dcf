/** Calls the gateway's admin API under the session cookie. */
import { ApiError, parseRelayError } from '@privatemode/protocol/api'
import { adminBase } from '@privatemode/protocol/fleet'
import { session } from './session-store.ts'

export const adminPath = adminBase

/** Longer than any answer takes; then the request fails with a timeout. */
const timeoutMs = 60_000

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Returns JSON or throws an `ApiError`; an expired session leads to the sign-in page. */
export async function callApi<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body)
  const text = await response.text()
  if (response.ok) return JSON.parse(text) as T
  const error = parseRelayError(response.status, text, response.headers.get('retry-after'))
  // Below /session, 401 can also mean a wrong password.
  const ended = response.status === 401 && !path.startsWith('/session')
  if (ended && session.get().kind === 'signed-in') {
    session.set({ kind: 'signed-out', ended: true })
  }
  throw error
}

async function send(method: Method, path: string, body: unknown): Promise<Response> {
  const current = session.get()
  const headers: Record<string, string> = {}
  if (body !== undefined) headers['content-type'] = 'application/json'
  // Another site can make a browser send the cookie, but it cannot read this token.
  if (current.kind === 'signed-in') headers['x-csrf-token'] = current.csrfToken
  try {
    return await fetch(adminPath + path, {
      method,
      headers,
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (cause) {
    throw new ApiError('gateway_unreachable', 'the gateway does not answer', { cause })
  }
}
