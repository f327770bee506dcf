/** Writes DER (X.690): software certificates, OCSP requests and test data, including malformed values. */
import { type Bytes, concatBytes, utf8 } from '../bytes.ts'

export const sequence = (...parts: readonly Uint8Array[]): Bytes => element(0x30, ...parts)
export const set = (...parts: readonly Uint8Array[]): Bytes => element(0x31, ...parts)
export const octetString = (...parts: readonly Uint8Array[]): Bytes => element(0x04, ...parts)
export const utf8String = (text: string): Bytes => element(0x0c, utf8(text))
export const ia5String = (text: string): Bytes => element(0x16, utf8(text))
export const nullValue = (): Bytes => element(0x05)
export const boolean = (value: boolean): Bytes => element(0x01, Uint8Array.of(value ? 0xff : 0))
export const enumerated = (value: number): Bytes => element(0x0a, Uint8Array.of(value))

/** An explicit context-specific tag around its parts. */
export const explicit = (number: number, ...parts: readonly Uint8Array[]): Bytes =>
  element(0xa0 | number, ...parts)

/** A bit string; `unusedBits` counts from the end of the last byte. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Bytes =>
  element(0x03, Uint8Array.of(unusedBits), bytes)

/** A non-negative integer, from a number or its big-endian bytes, in the shortest form (8.3.2). */
export function integer(value: number | Uint8Array): Bytes {
  const magnitude = typeof value === 'number' ? bigEndian(value) : value
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
  return instant.getUTCFullYear() < 2050
    ? element(0x17, utf8(timeDigits(instant).slice(2)))
    : generalizedTime(instant)
}

export const generalizedTime = (instant: Date): Bytes => element(0x18, utf8(timeDigits(instant)))

/** r ‖ s as ECDSA-Sig-Value (RFC 3279, 2.2.3). */
export const ecdsaSignature = (raw: Uint8Array): Bytes =>
  sequence(integer(raw.subarray(0, raw.length / 2)), integer(raw.subarray(raw.length / 2)))

export function element(tag: number, ...parts: readonly Uint8Array[]): Bytes {
  const content = concatBytes(...parts)
  const { length } = content
  if (length < 0x80) return concatBytes(Uint8Array.of(tag, length), content)
  const lengthBytes = bigEndian(length)
  return concatBytes(Uint8Array.of(tag, 0x80 | lengthBytes.length), lengthBytes, content)
}

function bigEndian(value: number): Uint8Array {
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Uint8Array.from(bytes)
}

const timeDigits = (instant: Date): string =>
  `${instant.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
