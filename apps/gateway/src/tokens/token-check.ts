/** Tokens for machines and shells: one to administer, one to register workers, one to read metrics. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@privatemode/protocol/api'
import type { Secret } from '@privatemode/service'

export type TokenKind = 'admin' | 'register' | 'metrics'

/** Throws an `ApiError` unless the token matches. */
export type CheckToken = (token: string | undefined) => void

/** Hashes are compared, so that neither timing nor length reveals anything about the token. */
export function tokenCheck(kind: TokenKind, expected: Secret): CheckToken {
  const wanted = digest(expected.reveal())
  return (token) => {
    if (token === undefined || !timingSafeEqual(digest(token), wanted)) {
      throw new ApiError('invalid_api_key', `this needs the ${kind} token as a Bearer token`)
    }
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
