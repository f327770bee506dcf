/** The clear part of a sealed request: its context, and the request key wrapped for each candidate. */
import {
  decodeText,
  encodeText,
  equalBytes,
  joinBytes,
  readUint64,
  writeUint64,
} from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'

/**
 * The context that everything in an exchange is bound to, and all that the gateway learns about a
 * request.
 */
export type RequestContext = {
  /** 16 random bytes. */
  readonly requestId: Bytes
  readonly issuedAtMs: number
  readonly method: string
  readonly path: string
  readonly model: string
}

export type Recipient = {
  /** The first 16 bytes of SHA-256 of the worker's public key. */
  readonly sealKeyId: Bytes
  readonly encapsulation: Bytes
}
export type WrappedRecipient = Recipient & { readonly wrappedKey: Bytes }

export type Prelude = {
  readonly context: RequestContext
  readonly recipients: readonly WrappedRecipient[]
  /** Length of the prelude in bytes; frames follow. */
  readonly length: number
  /** Exactly as received: these bytes are hashed. */
  readonly contextBytes: Bytes
  readonly recipientBytes: Bytes
}

export const sealKeyIdLength = 16
/** X-Wing: an ML-KEM-768 ciphertext and an X25519 public key. */
export const encapsulationLength = 1120
export const maxRecipients = 4
const wrappedKeyLength = 48
/** Magic, request id, time. */
const contextHeadLength = 4 + 16 + 8
/**
 * The longest possible prelude: three texts of up to 255 bytes, and the maximum number of
 * recipients.
 */
export const maxPreludeLength =
  contextHeadLength +
  3 * 256 +
  1 +
  maxRecipients * (sealKeyIdLength + encapsulationLength + wrappedKeyLength)
const magic = encodeText('PMQ1')
const bindingLabel = encodeText('privatemode/v1/binding\0')
const preludeLabel = encodeText('privatemode/v1/prelude\0')

/** `magic ‖ request id ‖ time ‖ method ‖ path ‖ model`, each text prefixed with its length. */
export function formatContext(context: RequestContext): Bytes {
  if (context.requestId.length !== 16) {
    throw new EnvelopeError('malformed', 'a request id must be 16 bytes long')
  }
  let length = contextHeadLength
  const texts = (['method', 'path', 'model'] as const).map((name) => {
    const text = encodeText(context[name])
    if (text.length > 255)
      throw new EnvelopeError('too_large', `the ${name} has ${text.length} bytes, at most 255 fit`)
    length += 1 + text.length
    return text
  })
  const bytes = new Uint8Array(length)
  bytes.set(magic)
  bytes.set(context.requestId, 4)
  writeUint64(bytes, 20, context.issuedAtMs)
  let offset = contextHeadLength
  for (const text of texts) {
    bytes[offset] = text.length
    bytes.set(text, offset + 1)
    offset += 1 + text.length
  }
  return bytes
}

/** The public part of a request's recipients, and its digest. */
export type RecipientSet = { readonly bytes: Bytes; readonly digest: Bytes }

/** `u8 count ‖ count × ( seal key id ‖ encapsulation )` and its SHA-256 digest. */
export function formatRecipients(
  provider: CryptoProvider,
  recipients: readonly Recipient[],
): Eventually<RecipientSet> {
  if (recipients.length < 1 || recipients.length > maxRecipients) {
    throw new EnvelopeError('too_large', `a request has 1 to ${maxRecipients} recipients`)
  }
  const parts: Bytes[] = [Uint8Array.of(recipients.length)]
  for (const { sealKeyId, encapsulation } of recipients) parts.push(sealKeyId, encapsulation)
  const bytes = joinBytes(parts)
  return andThen(provider.sha256(bytes), (digest) => ({ bytes, digest }))
}

/** The public input of the wrapping keys: the context and all recipients. */
export function requestBinding(
  provider: CryptoProvider,
  contextBytes: Bytes,
  recipientsDigest: Bytes,
): Eventually<Bytes> {
  return provider.sha256(joinBytes([bindingLabel, contextBytes, recipientsDigest]))
}

/** Covers the wrapped keys too, so frames are bound to the entire prelude. */
export function preludeDigest(
  provider: CryptoProvider,
  binding: Bytes,
  wrappedKeys: readonly Bytes[],
): Eventually<Bytes> {
  return provider.sha256(joinBytes([preludeLabel, binding, ...wrappedKeys]))
}

/** Returns `undefined` if more bytes are needed. Nothing is authenticated yet. */
export function parsePrelude(bytes: Bytes): Prelude | undefined {
  if (bytes.length >= 4 && !equalBytes(bytes.subarray(0, 4), magic)) {
    throw new EnvelopeError('malformed', 'not a sealed request of version 1')
  }
  const texts: string[] = []
  let offset = contextHeadLength
  for (let i = 0; i < 3; i++) {
    const length = bytes[offset]
    if (length === undefined || bytes.length < offset + 1 + length) return undefined
    texts.push(parseText(bytes.subarray(offset + 1, offset + 1 + length)))
    offset += 1 + length
  }
  const count = bytes[offset]
  if (count === undefined) return undefined
  if (count < 1 || count > maxRecipients) {
    throw new EnvelopeError('malformed', `a request has 1 to ${maxRecipients} recipients`)
  }
  const publicLength = sealKeyIdLength + encapsulationLength
  const wrappedStart = offset + 1 + count * publicLength
  const length = wrappedStart + count * wrappedKeyLength
  if (bytes.length < length) return undefined
  const recipients = Array.from({ length: count }, (_, i) => {
    const start = offset + 1 + i * publicLength
    const wrapped = wrappedStart + i * wrappedKeyLength
    return {
      sealKeyId: bytes.subarray(start, start + sealKeyIdLength),
      encapsulation: bytes.subarray(start + sealKeyIdLength, start + publicLength),
      wrappedKey: bytes.subarray(wrapped, wrapped + wrappedKeyLength),
    }
  })
  const [method = '', path = '', model = ''] = texts
  const requestId = bytes.subarray(4, 20)
  const context = { requestId, issuedAtMs: readUint64(bytes, 20), method, path, model }
  const contextBytes = bytes.subarray(0, offset)
  const recipientBytes = bytes.subarray(offset, wrappedStart)
  return { context, recipients, length, contextBytes, recipientBytes }
}

function parseText(bytes: Bytes): string {
  try {
    return decodeText(bytes)
  } catch (cause) {
    throw new EnvelopeError('malformed', 'the context is not UTF-8', { cause })
  }
}
