/** Random tokens for sessions and links; the database stores only their hashes. */
import { createHash, randomBytes } from 'node:crypto'

/** 256 bits, safe in a cookie and in a URL. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
