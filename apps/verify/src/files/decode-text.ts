/** Decodes the encodings in which evidence is stored: hex, base64, PEM, percent-encoding. */
import type { Bytes } from './piece.ts'

export type PemBlock = { readonly label: string; readonly bytes: Bytes }

/** Every PEM block with any label (RFC 7468), in order; blocks that do not decode are skipped. */
export function findPemBlocks(text: string): PemBlock[] {
  const pattern = /-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----/g
  return [...text.matchAll(pattern)].flatMap(([, label = '', body = '']) => {
    const bytes = decodeBase64(body)
    return bytes === undefined ? [] : [{ label, bytes }]
  })
}

/** Digits with or without 0x, white space or colons in between; undefined if it is not hex. */
export function decodeHex(text: string): Bytes | undefined {
  const digits = text.trim().replace(/^0x/i, '').replace(/[\s:]/g, '')
  if (digits.length < 2 || digits.length % 2 !== 0 || !/^[0-9a-f]+$/i.test(digits)) return undefined
  return new Uint8Array(Buffer.from(digits, 'hex'))
}

/** Standard or URL alphabet, padded or not, split into lines or not. */
export function decodeBase64(text: string): Bytes | undefined {
  const compact = text.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/')
  const bare = trimEndOf(compact, '=')
  if (bare.length < 2 || bare.length % 4 === 1 || !/^[A-Za-z0-9+/]+$/.test(bare)) return undefined
  return new Uint8Array(Buffer.from(bare, 'base64'))
}

/** In linear time: a pattern such as `=+$` starts over at every character of a run. */
export function trimEndOf(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}

/** Intel's service sends certificate chains in headers, percent-encoded. */
export function decodePercent(text: string): string {
  if (!text.includes('BEGIN%20')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The text if all of it is readable, otherwise undefined: it is binary. */
export function asText(bytes: Uint8Array): string | undefined {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
  // Quotes end their certificate chain with a zero byte; other control characters mean binary.
  const readable = trimEndOf(text, '\0')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: telling text from binary is the point
  return /[\x00-\x08\x0e-\x1f]/.test(readable) ? undefined : readable
}
