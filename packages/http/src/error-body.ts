/** Collects the body of an error answer: as a whole, up to a limit. */
import { type ByteRange, viewOf } from './byte-range.ts'

const maxErrorBytes = 64 * 1024

export class ErrorBody {
  #parts: Buffer[] = []
  #bytes = 0

  /** The text once the body has ended, empty if it was too long; undefined while incomplete. */
  add(payload: readonly ByteRange[], ended: boolean): string | undefined {
    for (const range of payload) {
      this.#parts.push(viewOf(range))
      this.#bytes += range.end - range.start
    }
    if (this.#bytes > maxErrorBytes) {
      this.#parts = []
      return ''
    }
    return ended ? Buffer.concat(this.#parts).toString('utf8') : undefined
  }
}
