/** Byte strings: joining, comparing, and the two text encodings on the wire (hex and base64). */

/** What WebCrypto accepts: bytes over a plain buffer, never a shared one. */
export type Bytes = Uint8Array<ArrayBuffer>

export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}

/** Compares public values; not constant-time. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text)
}

export function uint32Bytes(value: number): Bytes {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

export function formatHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** Undefined if the text is not lower-case hex; every value has one encoding. */
export function parseHex(text: string): Bytes | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(text.slice(index * 2, index * 2 + 2), 16)
  }
  return bytes
}

export function formatBase64(bytes: Uint8Array): string {
  let binary = ''
  // In slices: the maximum number of arguments is far below the size of a reference manifest.
  for (let start = 0; start < bytes.length; start += 8192) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 8192))
  }
  return btoa(binary)
}

/** Undefined if the text is not canonical, padded standard base64 (RFC 4648, section 4). */
export function parseBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  // RFC 4648, section 3.5: bits that pad the last character must be zero.
  const tail = text.slice(-4)
  return tail === formatBase64(bytes.subarray(text.length === 0 ? 0 : (text.length / 4 - 1) * 3))
    ? bytes
    : undefined
}
