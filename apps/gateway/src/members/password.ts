/** Passwords, stretched with scrypt (RFC 7914). */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@privatemode/protocol/api'

// 128 MiB and some tenths of a second for each guess.
const logN = 17
const r = 8
const p = 1
const hashBytes = 32
const minLength = 12
const maxLength = 256
const maxRunning = 2
const maxWaiting = 16

let running = 0
const waiting: (() => void)[] = []

/** `scrypt$17$8$1$salt$hash`, the cost in front so that it can rise later. */
export async function hashPassword(password: string): Promise<string> {
  checkPassword(password)
  const salt = randomBytes(16)
  const hash = await stretch(password, salt, { N: 2 ** logN, r, p })
  return ['scrypt', logN, r, p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** False for a wrong password; without a stored hash it takes as long and is false. */
export async function verifyPassword(
  password: string,
  stored: string | null | undefined,
): Promise<boolean> {
  const [kind, costs, rText, pText, salt, hash] = (stored ?? nobody).split('$')
  if (kind !== 'scrypt' || password.length > maxLength) return false
  const options = { N: 2 ** Number(costs), r: Number(rText), p: Number(pText) }
  const found = await stretch(password, Buffer.from(salt ?? '', 'base64'), options)
  const wanted = Buffer.from(hash ?? '', 'base64')
  return (
    found.length === wanted.length && timingSafeEqual(found, wanted) && typeof stored === 'string'
  )
}

/** Length is what counts (NIST SP 800-63B, 3.1.1); rules about letters are not. */
export function checkPassword(password: string): void {
  if (password.length < minLength || password.length > maxLength) {
    const message = `a password has ${minLength} to ${maxLength} characters`
    throw new ApiError('invalid_value', message, { param: 'password' })
  }
}

const nobody = `scrypt$${logN}$${r}$${p}$${'A'.repeat(22)}==$${'A'.repeat(43)}=`

/** A few at a time: each takes much memory, and who sends many shall wait. */
async function stretch(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  if (running >= maxRunning) {
    if (waiting.length >= maxWaiting) {
      throw new ApiError('overloaded', 'too many people sign in at once', { retryAfterSeconds: 5 })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  running++
  try {
    return await new Promise((resolve, reject) => {
      const maxmem = 256 * 1024 * 1024
      scrypt(password.normalize('NFKC'), salt, hashBytes, { ...options, maxmem }, (error, key) =>
        error ? reject(error) : resolve(key),
      )
    })
  } finally {
    running--
    waiting.shift()?.()
  }
}
