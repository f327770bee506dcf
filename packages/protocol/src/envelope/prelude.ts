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

/** What everything in an exchange is bound to, and all that the gateway may know of a request. */
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
  /** Bytes that the prelude took; frames follow. */
  readonly length: number
  /** The context and the recipients' public parts, exactly as they travelled. */
  readonly bound: Bytes
}

export const sealKeyIdLength = 16
/** X-Wing: an ML-KEM-768 ciphertext and an X25519 public key. */
export const encapsulationLength = 1120
export const maxRecipients = 4
const wrappedKeyLength = 48
const magic = encodeText('PMQ1')
const bindingLabel = encodeText('privatemode/v1/binding\0')
const preludeLabel = encodeText('privatemode/v1/prelude\0')

/** `magic ‖ request id ‖ time ‖ method ‖ path ‖ model`, each text with its length before it. */
export function formatContext(context: RequestContext): Bytes {
  const texts = [context.method, context.path, context.model].map(encodeText)
  const time = new Uint8Array(8)
  writeUint64(time, 0, context.issuedAtMs)
  const parts: Bytes[] = [magic, context.requestId, time]
  for (const text of texts) {
    if (text.length > 255) throw new EnvelopeError('too_large', 'method, path or model is too long')
    parts.push(Uint8Array.of(text.length), text)
  }
  return joinBytes(parts)
}

/** The context and the recipients' public parts: what every key of this request is bound to. */
export function formatBound(context: Bytes, recipients: readonly Recipient[]): Bytes {
  if (recipients.length < 1 || recipients.length > maxRecipients) {
    throw new EnvelopeError('too_large', `a request has 1 to ${maxRecipients} recipients`)
  }
  const parts: Bytes[] = [context, Uint8Array.of(recipients.length)]
  for (const { sealKeyId, encapsulation } of recipients) parts.push(sealKeyId, encapsulation)
  return joinBytes(parts)
}

/** SHA-256 of the bound bytes under a label: what wrapping keys are derived from. */
export function requestBinding(provider: CryptoProvider, bound: Bytes): Eventually<Bytes> {
  return provider.sha256(joinBytes([bindingLabel, bound]))
}

/** Covers the wrapped keys too, so that frames are bound to the prelude's last byte. */
export function preludeDigest(
  provider: CryptoProvider,
  binding: Bytes,
  wrappedKeys: readonly Bytes[],
): Eventually<Bytes> {
  return provider.sha256(joinBytes([preludeLabel, binding, ...wrappedKeys]))
}

/** The prelude on the wire: the bound bytes, then one wrapped key for each recipient. */
export function formatPrelude(bound: Bytes, wrappedKeys: readonly Bytes[]): Bytes {
  return joinBytes([bound, ...wrappedKeys])
}

/** `undefined` where more bytes are needed. Nothing here is authenticated yet. */
export function parsePrelude(bytes: Bytes): Prelude | undefined {
  const head = 4 + 16 + 8
  if (bytes.length >= 4 && !equalBytes(bytes.subarray(0, 4), magic)) {
    throw new EnvelopeError('malformed', 'not a sealed request of version 1')
  }
  const texts: string[] = []
  let offset = head
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
  const boundLength = offset + 1 + count * publicLength
  const length = boundLength + count * wrappedKeyLength
  if (bytes.length < length) return undefined
  const recipients = Array.from({ length: count }, (_, i) => {
    const start = offset + 1 + i * publicLength
    const wrapped = boundLength + i * wrappedKeyLength
    return {
      sealKeyId: bytes.subarray(start, start + sealKeyIdLength),
      encapsulation: bytes.subarray(start + sealKeyIdLength, start + publicLength),
      wrappedKey: bytes.subarray(wrapped, wrapped + wrappedKeyLength),
    }
  })
  const [method = '', path = '', model = ''] = texts
  const requestId = bytes.subarray(4, 20)
  const context = { requestId, issuedAtMs: readUint64(bytes, 20), method, path, model }
  return { context, recipients, length, bound: bytes.subarray(0, boundLength) }
}

function parseText(bytes: Bytes): string {
  try {
    return decodeText(bytes)
  } catch (cause) {
    throw new EnvelopeError('malformed', 'the context is not UTF-8', { cause })
  }
}

/** Convenience for both sides: the binding of a context and its recipients. */
export function bindRequest(
  provider: CryptoProvider,
  context: RequestContext,
  recipients: readonly Recipient[],
): Eventually<{ bound: Bytes; binding: Bytes }> {
  const bound = formatBound(formatContext(context), recipients)
  return andThen(requestBinding(provider, bound), (binding) => ({ bound, binding }))
}
