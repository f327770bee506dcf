/** The format of an API key: a public prefix for recognition, then 256 random bits. */
import { hash, randomBytes } from 'node:crypto'

/** A new key; `secret` is shown once and never stored. */
export type NewApiKey = { readonly secret: string; readonly prefix: string; readonly hash: Buffer }

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefixLetters = 8
/** 62^43 > 2^256. */
const secretLetters = 43
const shape = /^pm_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/

export function issueApiKey(): NewApiKey {
  const prefix = `pm_${randomLetters(prefixLetters)}`
  const secret = `${prefix}_${randomLetters(secretLetters)}`
  return { secret, prefix, hash: Buffer.from(hashApiKey(secret), 'base64') }
}

/** Recognizes keys that cannot be ours without querying the database. */
export function looksLikeApiKey(text: string): boolean {
  return shape.test(text)
}

/** A plain hash is enough: 256 random bits cannot be guessed, so a slow hash would gain nothing. */
export function hashApiKey(secret: string): string {
  return hash('sha256', secret, 'base64')
}

/** An opaque identifier such as `key_…`; it is not a secret. */
export function newId(kind: 'key' | 'acct' | 'mem' | 'inv' | 'gw'): string {
  return `${kind}_${randomLetters(20)}`
}

function randomLetters(count: number): string {
  let text = ''
  while (text.length < count) {
    for (const byte of randomBytes(count)) {
      // 248 = 4 × 62: higher values would make some letters more likely.
      if (byte < 248 && text.length < count) text += letters[byte % 62]
    }
  }
  return text
}
