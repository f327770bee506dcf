/** Hashes a long body a megabyte at a time, so that other requests are served in between. */
import { createHash } from 'node:crypto'

/** Bodies up to this size are hashed at once. */
export const hashedAtOnce = 1024 * 1024

/** SHA-256 in lower-case hex. */
export async function hashInTurns(
  bytes: Uint8Array,
  giveTurn: () => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    if (at > 0) await giveTurn()
    hash.update(bytes.subarray(at, at + hashedAtOnce))
  }
  return hash.digest('hex')
}
