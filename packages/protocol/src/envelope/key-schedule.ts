/** The key schedule. Every derivation has its own label and is bound to the request. */
import { encodeText, joinBytes } from './byte-strings.ts'
import {
  type AeadKey,
  andThen,
  type Bytes,
  type CryptoProvider,
  type Eventually,
} from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'

const labels = {
  wrap: encodeText('privatemode/v1/wrap\0'),
  request: encodeText('privatemode/v1/request\0'),
  answer: encodeText('privatemode/v1/answer\0'),
}
// A constant nonce is safe: a wrapping key seals one value only, since the binding includes the
// random request id.
const wrapNonce = new Uint8Array(12)

export const answerSaltLength = 32

function derive(
  provider: CryptoProvider,
  secret: Bytes,
  info: readonly Bytes[],
): Eventually<AeadKey> {
  return andThen(provider.expand(secret, joinBytes(info)), (key) => provider.aeadKey(key))
}

export function wrapRequestKey(
  provider: CryptoProvider,
  sessionSecret: Bytes,
  binding: Bytes,
  requestKey: Bytes,
): Eventually<Bytes> {
  return andThen(derive(provider, sessionSecret, [labels.wrap, binding]), (key) =>
    andThen(key.seal(wrapNonce, binding, [requestKey]), joinBytes),
  )
}

export function unwrapRequestKey(
  provider: CryptoProvider,
  sessionSecret: Bytes,
  binding: Bytes,
  wrappedKey: Bytes,
): Eventually<Bytes> {
  return andThen(derive(provider, sessionSecret, [labels.wrap, binding]), (key) =>
    andThen(key.open(wrapNonce, binding, wrappedKey), (requestKey) => {
      if (requestKey !== undefined) return requestKey
      throw new EnvelopeError('authentication_failed', 'the wrapped request key is not authentic')
    }),
  )
}

export function requestFrameKey(
  provider: CryptoProvider,
  requestKey: Bytes,
  preludeDigest: Bytes,
): Eventually<AeadKey> {
  return derive(provider, requestKey, [labels.request, preludeDigest])
}

/**
 * The worker's salt and key id make the answer key unique per worker, even for the same request.
 */
export function answerFrameKey(
  provider: CryptoProvider,
  requestKey: Bytes,
  preludeDigest: Bytes,
  sealKeyId: Bytes,
  salt: Bytes,
): Eventually<AeadKey> {
  return derive(provider, requestKey, [labels.answer, preludeDigest, sealKeyId, salt])
}
