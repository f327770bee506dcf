/** Decides the prompt-cache salt of one request. */
import { ApiError } from '@privatemode/protocol/api'

/** 32 random bytes in base64 are 44 characters; fewer than 32 cannot hold 256 bits of entropy. */
const minSaltLength = 32
const maxSaltLength = 1024

/** The request's salt takes precedence over the client's default; without either, nothing is shared. */
export function chooseCacheSalt(requested: unknown, clientDefault: string | undefined): string {
  if (requested !== undefined && requested !== null) return checkSalt(requested)
  return clientDefault === undefined ? randomSalt() : checkSalt(clientDefault)
}

function checkSalt(salt: unknown): string {
  const isValid =
    typeof salt === 'string' && salt.length >= minSaltLength && salt.length <= maxSaltLength
  if (isValid) return salt
  // The message does not mention the actual length: the salt is a secret.
  const message = `'cache_salt' must be a string of ${minSaltLength} to ${maxSaltLength} characters with at least 256 bits of entropy`
  throw new ApiError('invalid_value', message, { param: 'cache_salt' })
}

function randomSalt(): string {
  return crypto.getRandomValues(new Uint8Array(32)).toBase64()
}
