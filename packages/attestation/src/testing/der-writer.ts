/** Writes DER, so that tests can make certificates, lists and answers of any shape, also bad ones. */
import { type Bytes, concatBytes, utf8 } from '../bytes.ts'

export function element(tag: number, ...content: readonly Uint8Array[]): Bytes {
  const body = concatBytes(...content)
  const length: number[] = []
  if (body.length < 0x80) length.push(body.length)
  else {
    for (let rest = body.length; rest > 0; rest >>>= 8) length.unshift(rest & 0xff)
    length.unshift(0x80 | length.length)
  }
  return concatBytes(Uint8Array.of(tag, ...length), body)
}

export const sequence = (...parts: readonly Uint8Array[]): Bytes => element(0x30, ...parts)
export const set = (...parts: readonly Uint8Array[]): Bytes => element(0x31, ...parts)
export const explicit = (n: number, ...parts: readonly Uint8Array[]): Bytes =>
  element(0xa0 | n, ...parts)
export const octetString = (bytes: Uint8Array): Bytes => element(0x04, bytes)
export const bitString = (bytes: Uint8Array, unusedBits = 0): Bytes =>
  element(0x03, Uint8Array.of(unusedBits), bytes)
export const nullValue = (): Bytes => element(0x05)
export const boolean = (value: boolean): Bytes => element(0x01, Uint8Array.of(value ? 0xff : 0))
export const enumerated = (value: number): Bytes => element(0x0a, Uint8Array.of(value))
export const utf8String = (text: string): Bytes => element(0x0c, utf8(text))
export const ia5String = (text: string): Bytes => element(0x16, utf8(text))

/** A non-negative INTEGER, from a number or from big-endian bytes. */
export function integer(value: number | Uint8Array): Bytes {
  let bytes: number[]
  if (typeof value === 'number') {
    bytes = []
    for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  } else bytes = [...value]
  while (bytes[0] === 0) bytes.shift()
  if (bytes.length === 0 || bytes[0]! >= 0x80) bytes.unshift(0)
  return element(0x02, Uint8Array.from(bytes))
}

export function oid(dotted: string): Bytes {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const octets: number[] = []
  for (const arc of [first * 40 + second, ...rest]) {
    const group = [arc & 0x7f]
    for (let high = arc >>> 7; high > 0; high >>>= 7) group.unshift(0x80 | (high & 0x7f))
    octets.push(...group)
  }
  return element(0x06, Uint8Array.from(octets))
}

/** UTCTime until 2049, then GeneralizedTime (RFC 5280, 4.1.2.5). */
export function time(value: Date): Bytes {
  return value.getUTCFullYear() < 2050
    ? element(0x17, utf8(compact(value).slice(2)))
    : generalizedTime(value)
}

export const generalizedTime = (value: Date): Bytes => element(0x18, utf8(compact(value)))

const compact = (value: Date): string => value.toISOString().replace(/[-:T]|\.\d{3}/g, '')

/** r ‖ s as ECDSA-Sig-Value. */
export const ecdsaSignature = (raw: Uint8Array): Bytes =>
  sequence(integer(raw.subarray(0, raw.length / 2)), integer(raw.subarray(raw.length / 2)))
