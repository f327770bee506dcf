/** The cache salts sent to a model server: derived from the callers' own, which never leave the worker. */
import { createHash, randomBytes } from 'node:crypto'
import type { JsonObject } from '../engine.ts'

const label = 'privatemode/v1/server-cache-salt\0'

/**
 * 64 hex digits. vLLM 0.30 and later refuse salts that are longer than 128 characters or contain
 * `@`, `/`, `\` or NUL; servers also write salts to logs and cache keys, where a digest does not
 * reveal the caller's secret.
 */
export function serverSalt(salt: string): string {
  // UTF-16 keeps lone surrogates distinct, which UTF-8 would all convert to the same character.
  return createHash('sha256').update(label).update(salt, 'utf16le').digest('hex')
}

/** A salt for the worker's own requests, in the same form as all others. */
export function randomServerSalt(): string {
  return randomBytes(32).toString('hex')
}

export function withServerSalt(body: JsonObject): JsonObject {
  const { cache_salt: salt } = body
  return typeof salt === 'string' ? { ...body, cache_salt: serverSalt(salt) } : body
}
