/** Password hashing with scrypt (RFC 7914). */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '@privatemode/protocol/api'
import { type HashLane, HashQueue, type HashTurn } from './hash-queue.ts'

// 128 MiB and some tenths of a second per guess.
const logN = 17
const r = 8
const p = 1
const hashBytes = 32
const minLength = 12
const maxLength = 256

const queue = new HashQueue({ running: 2, perLane: 4, total: 16 })

/** Takes a slot for hashing; throws if there is none. */
export const enterHashing = (lane: HashLane): HashTurn => queue.enter(lane)

/** `scrypt$17$8$1$salt$hash`, with the cost first, so that it can be raised later. */
export async function hashPassword(password: string, turn: HashTurn): Promise<string> {
  checkPassword(password)
  const salt = randomBytes(16)
  const hash = await turn.run(() => stretch(password, salt, { N: 2 ** logN, r, p }))
  return ['scrypt', logN, r, p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** False for a wrong password; without a stored hash it takes as long and returns false. */
export async function verifyPassword(
  password: string,
  stored: string | null | undefined,
  turn: HashTurn,
): Promise<boolean> {
  const [kind, costs, rText, pText, salt, hash] = (stored ?? nobody).split('$')
  if (kind !== 'scrypt' || password.length > maxLength) return false
  const options = { N: 2 ** Number(costs), r: Number(rText), p: Number(pText) }
  const saltBytes = Buffer.from(salt ?? '', 'base64')
  const found = await turn.run(() => stretch(password, saltBytes, options))
  const wanted = Buffer.from(hash ?? '', 'base64')
  return (
    found.length === wanted.length && timingSafeEqual(found, wanted) && typeof stored === 'string'
  )
}

/** Only length matters (NIST SP 800-63B, 3.1.1); there are no composition rules. */
export function checkPassword(password: string): void {
  if (password.length < minLength || password.length > maxLength) {
    const message = `a password must have ${minLength} to ${maxLength} characters`
    throw new ApiError('invalid_value', message, { param: 'password' })
  }
}

/** One answer for a wrong password, an unknown address, and a disabled member or account. */
export function wrongPassword(): ApiError {
  return new ApiError('permission_denied', 'address or password is wrong', { status: 401 })
}

const nobody = `scrypt$${logN}$${r}$${p}$${'A'.repeat(22)}==$${'A'.repeat(43)}=`

function stretch(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  const maxmem = 256 * 1024 * 1024
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, hashBytes, { ...options, maxmem }, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
