/** Searches bytes for a secret in every encoding that could hide it. */
import { gunzipSync } from 'node:zlib'

export type Found = { readonly secret: string; readonly encoding: string }

/** Base64 has three alignments; for each, the characters that depend only on the secret. */
function base64Forms(secret: Buffer, variant: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), secret]).toString(variant)
    const start = Math.ceil((shift * 8) / 6)
    const end = Math.floor(((shift + secret.length) * 8) / 6)
    return text.slice(start, end)
  })
}

export function encodingsOf(secret: string): [string, Buffer][] {
  const bytes = Buffer.from(secret)
  return [
    ['plain', bytes],
    ['UTF-16 LE', Buffer.from(secret, 'utf16le')],
    ['UTF-16 BE', Buffer.from(secret, 'utf16le').swap16()],
    ['hex', Buffer.from(bytes.toString('hex'))],
    ['HEX', Buffer.from(bytes.toString('hex').toUpperCase())],
    ['URL', Buffer.from(encodeURIComponent(secret))],
    ['JSON', Buffer.from(JSON.stringify(secret).slice(1, -1))],
    ['reversed', Buffer.from(bytes).reverse()],
    ...base64Forms(bytes, 'base64').map((form): [string, Buffer] => ['base64', Buffer.from(form)]),
    ...base64Forms(bytes, 'base64url').map((form): [string, Buffer] => [
      'base64url',
      Buffer.from(form),
    ]),
  ]
}

export function findSecrets(haystack: Buffer, secrets: readonly string[]): Found[] {
  const places = [haystack, ...unzipped(haystack)]
  return secrets.flatMap((secret) =>
    encodingsOf(secret)
      .filter(([, form]) => places.some((place) => place.includes(form)))
      .map(([encoding]) => ({ secret, encoding })),
  )
}

/** Whatever looks like gzip inside the bytes, unpacked. */
function unzipped(bytes: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let at = bytes.indexOf('1f8b08', 0, 'hex'); at >= 0 && found.length < 100; ) {
    try {
      found.push(gunzipSync(bytes.subarray(at)))
    } catch {
      // three bytes that happen to look like gzip
    }
    at = bytes.indexOf('1f8b08', at + 1, 'hex')
  }
  return found
}
