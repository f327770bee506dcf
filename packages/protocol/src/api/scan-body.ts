/**
 * Finds the few top-level fields a client needs in a JSON body, in one pass and without rebuilding
 * it.
 *
 * The top level is checked exactly: object, keys, colons, commas, scalars, end. Inside values that
 * are not needed, only strings and brackets are tracked, so these malformed bodies pass and are
 * left to the worker, which parses everything: inside nested values, invalid scalars and misplaced
 * commas and colons; inside strings that are not needed, bad escapes, control characters and
 * invalid UTF-8. A body that a full parser accepts is read here exactly as that parser reads it.
 */
import { ApiError } from './errors.ts'

export type ScanLimits = {
  readonly maxDepth: number
  readonly maxKeys: number
  /**
   * Bounds nested values: parsing many small ones costs far more time and memory than their bytes.
   */
  readonly maxValues: number
}

export type BodyScan = {
  readonly model: string | undefined
  readonly stream: boolean
  readonly cacheSalt: string | undefined
}

export const defaultScanLimits: ScanLimits = {
  maxDepth: 128,
  maxKeys: 1024,
  maxValues: 2_000_000,
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Scans a request body; throws an `ApiError` with the byte offset if it is not valid JSON. */
export function scanBody(bytes: Uint8Array, limits: ScanLimits = defaultScanLimits): BodyScan {
  return new BodyScanner(limits).finish(bytes)
}

/** What must come next at the top level. */
type Expected = 'object' | 'first key' | 'key' | 'colon' | 'value' | 'comma' | 'nothing'

/**
 * Scans a body while it arrives: its bytes are still in the processor's cache then, and a long one
 * takes many short turns instead of one.
 */
export class BodyScanner {
  readonly #limits: ScanLimits
  readonly #keys = new Set<string>()
  #model: string | undefined
  #cacheSalt: string | undefined
  #isStream = false
  #expected: Expected = 'object'
  #key = ''
  /** Where what is expected begins, or white space before it. */
  #at = 0
  /** The string that is open has no end before this offset. */
  #searched = 0
  /** The nested value that is open: where to go on, and its closing brackets, the last one first. */
  #nestedAt = 0
  #closers: number[] = []
  #valuesLeft: number
  #failure: unknown

  constructor(limits: ScanLimits = defaultScanLimits) {
    this.#limits = limits
    this.#valuesLeft = limits.maxValues
  }

  /** Scans further; `bytes` is the body as far as it has arrived. Errors wait for `finish`. */
  push(bytes: Uint8Array): void {
    if (this.#failure !== undefined) return
    try {
      this.#scan(bytes, false)
    } catch (error) {
      this.#failure = error
    }
  }

  /** Scans the rest; `bytes` is the whole body. */
  finish(bytes: Uint8Array): BodyScan {
    if (this.#failure !== undefined) throw this.#failure
    this.#scan(bytes, true)
    return { model: this.#model, stream: this.#isStream, cacheSalt: this.#cacheSalt }
  }

  #scan(bytes: Uint8Array, isWhole: boolean): void {
    for (;;) {
      const at = skipSpace(bytes, this.#at)
      const byte = bytes[at]
      this.#at = at
      if (byte === undefined && !isWhole) return
      switch (this.#expected) {
        case 'object':
          if (byte !== openBrace) throw malformed('expected an object', at)
          this.#expect('first key', at + 1)
          break
        case 'first key':
          if (byte === closeBrace) this.#expect('nothing', at + 1)
          else this.#expect('key', at)
          break
        case 'key':
          if (byte !== quote) throw malformed('expected a key in double quotes', at)
          if (!this.#readKey(bytes, at, isWhole)) return
          break
        case 'colon':
          if (byte !== colon) throw malformed("expected ':'", at)
          this.#expect('value', at + 1)
          break
        case 'value':
          if (!this.#readValue(bytes, at, isWhole)) return
          break
        case 'comma':
          if (byte === closeBrace) this.#expect('nothing', at + 1)
          else if (byte === comma) this.#expect('key', at + 1)
          else throw malformed("expected ',' or '}'", at)
          break
        case 'nothing':
          if (byte === undefined) return
          throw malformed('unexpected bytes after the object', at)
      }
    }
  }

  #expect(next: Expected, at: number): void {
    this.#expected = next
    this.#at = at
  }

  /** False if its end has not arrived. */
  #readKey(bytes: Uint8Array, start: number, isWhole: boolean): boolean {
    const end = this.#endOfString(bytes, start, isWhole)
    if (end < 0) return false
    const key = decodeString(bytes, start, end)
    if (this.#keys.has(key)) throw duplicate(key, start)
    const { maxKeys } = this.#limits
    if (this.#keys.size >= maxKeys) throw malformed(`more than ${maxKeys} keys`, start)
    this.#keys.add(key)
    this.#key = key
    this.#expect('colon', end)
    return true
  }

  /** False if its end has not arrived. */
  #readValue(bytes: Uint8Array, start: number, isWhole: boolean): boolean {
    const end = this.#endOfValue(bytes, start, isWhole)
    if (end < 0) return false
    const key = this.#key
    if (key === 'model') this.#model = readString(bytes, start, end, key)
    else if (key === 'cache_salt') this.#cacheSalt = readString(bytes, start, end, key)
    else if (key === 'stream') this.#isStream = readBoolean(bytes, start, end)
    this.#expect('comma', end)
    return true
  }

  // Each of these returns the offset after the value that starts at `start`, or -1 if it has not arrived.

  #endOfValue(bytes: Uint8Array, start: number, isWhole: boolean): number {
    const first = bytes[start]
    if (first === quote) return this.#endOfString(bytes, start, isWhole)
    if (first === openBrace || first === openBracket) {
      return this.#endOfNested(bytes, start, isWhole)
    }
    return endOfScalar(bytes, start, isWhole)
  }

  #endOfString(bytes: Uint8Array, start: number, isWhole: boolean): number {
    const end = endOfString(bytes, Math.max(start + 1, this.#searched))
    if (end >= 0) return end
    if (isWhole) throw malformed('the string never ends', start)
    this.#searched = bytes.length
    return -1
  }

  #endOfNested(bytes: Uint8Array, start: number, isWhole: boolean): number {
    const { maxDepth } = this.#limits
    const closers = this.#closers
    let at = Math.max(start, this.#nestedAt)
    let valuesLeft = this.#valuesLeft
    while (at < bytes.length) {
      const byte = bytes[at]
      if (byte === quote) {
        const end = this.#endOfString(bytes, at, isWhole)
        if (end < 0) break
        at = end
        continue
      }
      if (byte === openBrace || byte === openBracket) {
        // The body's own object is the first level.
        if (closers.length + 1 >= maxDepth) throw malformed(`nested deeper than ${maxDepth}`, at)
        if (--valuesLeft < 0) throw malformed('too many values', at)
        closers.push(byte + 2) // in ASCII, both closers come two after their openers
      } else if (byte === closeBrace || byte === closeBracket) {
        if (closers.pop() !== byte) throw malformed('brackets do not match', at)
        if (closers.length === 0) {
          this.#valuesLeft = valuesLeft
          return at + 1
        }
      } else if (byte === comma && --valuesLeft < 0) throw malformed('too many values', at)
      at++
    }
    if (isWhole) throw malformed('the value never ends', start)
    this.#nestedAt = at
    this.#valuesLeft = valuesLeft
    return -1
  }
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

/** The offset after the closing quote of a string whose contents are searched from `from` on. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    // Most strings are short, where a loop is cheaper than a call; long ones use indexOf.
    const near = Math.min(at + 16, bytes.length)
    while (at < near && bytes[at] !== quote) at++
    const close = at < near ? at : bytes.indexOf(quote, at)
    if (close < 0) return -1
    let before = close - 1
    while (bytes[before] === backslash) before--
    if ((close - before) % 2 === 1) return close + 1
    at = close + 1
  }
}

const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const maxScalarBytes = 1024

function endOfScalar(bytes: Uint8Array, start: number, isWhole: boolean): number {
  let at = start
  while (at < bytes.length && at - start <= maxScalarBytes && isScalarByte(bytes[at])) at++
  if (at === bytes.length && !isWhole) return -1
  if (!scalar.test(asciiText(bytes, start, at))) throw malformed('expected a value', start)
  return at
}

function isScalarByte(byte: number | undefined): boolean {
  if (byte === undefined) return false
  const isDigit = byte >= 0x30 && byte <= 0x39
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a
  return isDigit || isLetter || byte === 0x2b || byte === 0x2d || byte === 0x2e
}

function readString(
  bytes: Uint8Array,
  start: number,
  after: number,
  param: string,
): string | undefined {
  if (bytes[start] === quote) return decodeString(bytes, start, after)
  if (asciiText(bytes, start, Math.min(after, start + 4)) === 'null') return undefined
  throw new ApiError('invalid_value', `'${param}' must be a string`, { param })
}

function readBoolean(bytes: Uint8Array, start: number, after: number): boolean {
  const text = asciiText(bytes, start, Math.min(after, start + 5))
  if (text === 'true') return true
  if (text === 'false' || text === 'null') return false
  throw new ApiError('invalid_value', "'stream' must be a boolean", { param: 'stream' })
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The string between the quotes at `start` and before `after`, with its escapes resolved. */
function decodeString(bytes: Uint8Array, start: number, after: number): string {
  let plain = true
  for (let at = start + 1; plain && at < after - 1; at++) {
    const byte = bytes[at]
    plain = byte !== undefined && byte >= 0x20 && byte < 0x80 && byte !== backslash
  }
  if (plain && after - start < 256) return asciiText(bytes, start + 1, after - 1)
  try {
    return JSON.parse(utf8.decode(bytes.subarray(start, after)))
  } catch {
    throw malformed('the string has a bad escape, a control character or invalid UTF-8', start)
  }
}

function asciiText(bytes: Uint8Array, start: number, after: number): string {
  let text = ''
  for (let at = start; at < after; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text
}

function malformed(what: string, offset: number): ApiError {
  return new ApiError('invalid_json', `body is not valid JSON: ${what} (at byte ${offset})`)
}

function duplicate(key: string, offset: number): ApiError {
  // Only names that could be a known field are echoed; a key could contain anything.
  const name = /^[a-z_]{1,32}$/.test(key) ? `'${key}'` : 'a key'
  return new ApiError('invalid_json', `body has ${name} twice (at byte ${offset})`)
}
