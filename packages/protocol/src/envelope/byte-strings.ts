/** Joining, comparing and formatting byte strings; network byte order throughout. */
import type { Bytes } from './crypto-provider.ts'

const encoder = new TextEncoder()
const strictDecoder = new TextDecoder('utf-8', { fatal: true })

export const encodeText = (text: string): Bytes => encoder.encode(text)

/** Throws a TypeError on invalid UTF-8. */
export const decodeText = (bytes: Bytes): string => strictDecoder.decode(bytes)

export function joinBytes(parts: readonly Bytes[]): Bytes {
  const only = parts[0]
  if (parts.length === 1 && only !== undefined) return only
  let length = 0
  for (const part of parts) length += part.length
  const joined = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

export function writeUint32(target: Bytes, offset: number, value: number): void {
  target[offset] = value >>> 24
  target[offset + 1] = value >>> 16
  target[offset + 2] = value >>> 8
  target[offset + 3] = value
}

export function readUint32(source: Bytes, offset: number): number {
  const high = ((source[offset] ?? 0) << 8) | (source[offset + 1] ?? 0)
  const low = ((source[offset + 2] ?? 0) << 8) | (source[offset + 3] ?? 0)
  return high * 0x10000 + low
}

/** Writes a 64-bit unsigned number, which must be a safe JavaScript integer. */
export function writeUint64(target: Bytes, offset: number, value: number): void {
  writeUint32(target, offset, Math.floor(value / 0x1_0000_0000))
  writeUint32(target, offset + 4, value % 0x1_0000_0000)
}

export function readUint64(source: Bytes, offset: number): number {
  return readUint32(source, offset) * 0x1_0000_0000 + readUint32(source, offset + 4)
}

export function equalBytes(a: Bytes, b: Bytes): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

type HexBytes = { readonly toHex?: () => string }

/** Formats lower-case hex, natively where the engine supports it (ECMAScript 2026). */
export function formatHex(bytes: Uint8Array): string {
  const native = bytes as HexBytes
  if (native.toHex !== undefined) return native.toHex()
  let text = ''
  for (const byte of bytes) text += hexDigits[byte]
  return text
}
