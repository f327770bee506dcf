/** Refuses requests that a foreign web page could have made: unknown Host headers and foreign origins. */
import type { HeaderLookup } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import { ipVersion, isLoopback } from '@privatemode/service'

/** Returns the reason to refuse a request, or `undefined`. */
export type Guard = (headers: HeaderLookup) => ApiError | undefined

/**
 * The guard of a local proxy.
 *
 * A page with a rebound DNS name is detected by its Host header, any other page by its Origin. A
 * proxy that listens beyond loopback is addressed by names we cannot know, so without a list every
 * Host is accepted there; a browser's requests still have to come from a page under a loopback, IP
 * or listed name.
 */
export function createLocalGuard(listenAddress: string, allowedHosts: readonly string[]): Guard {
  const listed = new Set(allowedHosts)
  const anyHost = !isLoopback(listenAddress) && listed.size === 0
  const isKnown = (host: string) => isLoopback(host) || ipVersion(host) !== 0 || listed.has(host)
  // Most requests use the same name as the previous one, which need not be checked again.
  let lastKnown: string | undefined

  return (headers) => {
    const authority = headers.get('host') ?? ''
    const known = authority === lastKnown || isKnown(hostOf(authority).toLowerCase())
    if (known) lastKnown = authority
    if (!known && !anyHost) {
      return new ApiError(
        'permission_denied',
        'the Host header names a host this proxy does not serve; add it with --allowedHosts',
      )
    }
    const origin = headers.get('origin')
    if (origin === null || origin === undefined) return undefined
    if (known && (origin === `http://${authority}` || origin === `https://${authority}`)) {
      return undefined
    }
    return new ApiError('permission_denied', 'requests from web pages of other origins are refused')
  }
}

function hostOf(authority: string): string {
  if (authority.startsWith('[')) return authority.slice(1, authority.indexOf(']'))
  const colon = authority.indexOf(':')
  return colon < 0 ? authority : authority.slice(0, colon)
}
