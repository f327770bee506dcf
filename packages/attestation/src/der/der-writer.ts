/** Writes the little DER (X.690) that software certificates and OCSP requests need. */
import { type Bytes, concatBytes, utf8 } from '../bytes.ts'

export const sequence = (...parts: readonly Uint8Array[]): Bytes => element(0x30, ...parts)
export const set = (...parts: readonly Uint8Array[]): Bytes => element(0x31, ...parts)
export const octetString = (...parts: readonly Uint8Array[]): Bytes => element(0x04, ...parts)
export const utf8String = (text: string): Bytes => element(0x0c, utf8(text))
export const nullValue = (): Bytes => element(0x05)
export const booleanTrue = (): Bytes => element(0x01, Uint8Array.of(0xff))

/** An explicit context-specific tag around its parts. */
export const explicit = (number: number, ...parts: readonly Uint8Array[]): Bytes =>
  element(0xa0 + number, ...parts)

/** A bit string; `unusedBits` counts from the end of the last byte. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Bytes =>
  element(0x03, Uint8Array.of(unusedBits), bytes)

/** A non-negative integer from its big-endian bytes, in the shortest form (8.3.2). */
export function integer(magnitude: Uint8Array): Bytes {
  const first = magnitude.findIndex((byte) => byte !== 0)
  const significant = first === -1 ? Uint8Array.of(0) : magnitude.subarray(first)
  const positive = (significant[0] ?? 0) >= 0x80 ? Uint8Array.of(0) : new Uint8Array()
  return element(0x02, positive, significant)
}

export function objectIdentifier(dotted: string): Bytes {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const groups = [arc & 0x7f]
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128)) {
      groups.unshift((high & 0x7f) | 0x80)
    }
    return groups
  })
  return element(0x06, Uint8Array.from(bytes))
}

/** UTCTime up to 2049, GeneralizedTime after (RFC 5280, 4.1.2.5). */
export function time(instant: Date): Bytes {
  const digits = `${instant.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
  return instant.getUTCFullYear() < 2050
    ? element(0x17, utf8(digits.slice(2)))
    : element(0x18, utf8(digits))
}

function element(tag: number, ...parts: readonly Uint8Array[]): Bytes {
  const content = concatBytes(...parts)
  return concatBytes(Uint8Array.of(tag), lengthBytes(content.length), content)
}

function lengthBytes(length: number): Bytes {
  if (length < 0x80) return Uint8Array.of(length)
  if (length < 0x100) return Uint8Array.of(0x81, length)
  return Uint8Array.of(0x82, length >> 8, length & 0xff)
}
