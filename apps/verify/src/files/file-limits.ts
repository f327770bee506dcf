/** Bounds the cost of parsing one file: above the limits the call is refused, nothing is dropped. */
import { UsageError } from '../command.ts'

// Evidence of a rack with its event logs has a few thousand values, a few hundred of them long.
const maxValues = 200_000
const maxDecoded = 10_000
/** Bytes that are parsed because they look like the start of a certificate. */
const maxParsedBytes = 32 * 1024 * 1024

export class FileLimits {
  #values = 0
  #decoded = 0
  #parsedBytes = 0

  /** One more value of a JSON document. */
  value(): void {
    this.#values += 1
    if (this.#values > maxValues) refuse(`more than ${maxValues} JSON values`)
  }

  /** One more string, block or body that is decoded. */
  decoded(): void {
    this.#decoded += 1
    if (this.#decoded > maxDecoded) refuse(`more than ${maxDecoded} encoded parts`)
  }

  parsed(bytes: number): void {
    this.#parsedBytes += bytes
    if (this.#parsedBytes > maxParsedBytes) refuse('too much that begins like a certificate')
  }
}

function refuse(reason: string): never {
  throw new UsageError(`a file has ${reason}; split it into several files`)
}
