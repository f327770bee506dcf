/** Follows a chunked body (RFC 9112, 7.1) without copying it; extensions and trailers are refused. */
import { MessageError } from './message-error.ts'

type Expect = 'size' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' | 'end-cr' | 'end-lf' | 'nothing'

const cr = 13
const lf = 10
const maxSizeDigits = 8

export class ChunkedScanner {
  #expect: Expect = 'size'
  #digits = 0
  #size = 0

  /** Whether the whole body has been seen. */
  get ended(): boolean {
    return this.#expect === 'nothing'
  }

  /**
   * Scans the next bytes starting at `from`. Returns the index after the body's end, or -1 if it
   * continues. `onData` receives the ranges that are payload.
   */
  scan(bytes: Uint8Array, from: number, onData?: (start: number, end: number) => void): number {
    let at = from
    while (at < bytes.length) {
      if (this.#expect === 'size' && this.#digits === 0) {
        at = followWhole(bytes, at, onData)
        if (at === bytes.length) break
      }
      if (this.#expect === 'data') {
        const end = Math.min(bytes.length, at + this.#size)
        onData?.(at, end)
        this.#size -= end - at
        at = end
        if (this.#size === 0) this.#expect = 'data-cr'
        continue
      }
      this.#step(bytes[at] ?? 0)
      at++
      if (this.#expect === 'nothing') return at
    }
    return -1
  }

  #step(byte: number): void {
    switch (this.#expect) {
      case 'size':
        if (byte === cr && this.#digits > 0) this.#expect = 'size-lf'
        else this.#addDigit(byte)
        return
      case 'size-lf':
        this.#need(byte, lf, this.#size === 0 ? 'end-cr' : 'data')
        this.#digits = 0
        return
      case 'data-cr':
        this.#need(byte, cr, 'data-lf')
        return
      case 'data-lf':
        this.#need(byte, lf, 'size')
        return
      case 'end-cr':
        this.#need(byte, cr, 'end-lf')
        return
      case 'end-lf':
        this.#need(byte, lf, 'nothing')
        return
      case 'data':
      case 'nothing':
        throw new MessageError(400, 'a chunked body is read past its end')
    }
  }

  #addDigit(byte: number): void {
    const digit = hexDigit(byte)
    this.#digits++
    if (digit < 0 || this.#digits > maxSizeDigits) {
      throw new MessageError(400, 'the size of a chunk is malformed')
    }
    this.#size = this.#size * 16 + digit
  }

  #need(byte: number, wanted: number, next: Expect): void {
    if (byte !== wanted) throw new MessageError(400, 'a chunk does not end where it should')
    this.#expect = next
  }
}

/** Follows the chunks that are here to their end, as most are; returns where the first other one starts. */
function followWhole(
  bytes: Uint8Array,
  from: number,
  onData: ((start: number, end: number) => void) | undefined,
): number {
  for (let at = from; ; ) {
    let size = 0
    let digits = 0
    for (; digits < maxSizeDigits; digits++) {
      const digit = hexDigit(bytes[at + digits] ?? 0)
      if (digit < 0) break
      size = size * 16 + digit
    }
    const start = at + digits + 2
    const end = start + size
    const isWhole =
      size > 0 &&
      bytes[start - 2] === cr &&
      bytes[start - 1] === lf &&
      bytes[end] === cr &&
      bytes[end + 1] === lf
    if (!isWhole) return at
    onData?.(start, end)
    at = end + 2
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
