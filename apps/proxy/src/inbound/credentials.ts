/** Decides which API key a request is sent with. */
import type { HeaderLookup } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import type { Secret } from '@privatemode/service'

/**
 * The proxy's own key if it has one; the client's key is then never sent. Otherwise the client's,
 * from either header.
 */
export function chooseApiKey(headers: HeaderLookup, own: Secret | undefined): string {
  if (own !== undefined) return own.reveal()
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1]
  const key = bearer ?? headers.get('x-api-key')?.trim()
  if (key === undefined || key === '') {
    throw new ApiError(
      'invalid_api_key',
      'no API key: send "Authorization: Bearer KEY" or "x-api-key: KEY"; a local proxy sends one for you with --apiKey',
    )
  }
  // It becomes a header of ours: printable ASCII of a sane length, or it is not a key.
  if (!/^[\x21-\x7e]{1,512}$/.test(key)) {
    throw new ApiError('invalid_api_key', 'the API key has invalid characters')
  }
  return key
}
