/** Listens for secrets in clear text, in every encoding that does not protect them. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { encodingsOf } from '../../blindness/find-secret.ts'

const readBytes = 4 * 1024 * 1024

export class Ears {
  readonly #forms: readonly (readonly [string, Buffer])[]
  readonly #overlap: number
  readonly #heard = new Set<string>()
  bytes = 0

  constructor(secrets: readonly string[]) {
    this.#forms = secrets.flatMap((secret) => encodingsOf(secret))
    this.#overlap = Math.max(...this.#forms.map(([, form]) => form.length)) - 1
  }

  /** Where secrets were found, and how they were written there. */
  get heard(): readonly string[] {
    return [...this.#heard]
  }

  /** One stream of bytes: a secret is also found if it is split across two pieces. */
  stream(place: string): (piece: Buffer) => void {
    let tail = Buffer.alloc(0)
    return (piece) => {
      this.bytes += piece.length
      const text = tail.length === 0 ? piece : Buffer.concat([tail, piece])
      for (const [encoding, form] of this.#forms) {
        if (text.includes(form)) this.#heard.add(`${place} (${encoding})`)
      }
      tail = Buffer.from(text.subarray(Math.max(0, text.length - this.#overlap)))
    }
  }

  /** Searches a file from a position on; returns the position of its end. */
  file(path: string, from = 0): number {
    const hear = this.stream(path)
    const start = Math.max(0, from - this.#overlap)
    const { size } = statSync(path)
    const file = openSync(path, 'r')
    try {
      for (let at = start; at < size; ) {
        const piece = Buffer.alloc(Math.min(readBytes, size - at))
        const length = readSync(file, piece, 0, piece.length, at)
        if (length === 0) break
        hear(piece.subarray(0, length))
        at += length
      }
    } finally {
      closeSync(file)
    }
    return size
  }
}
