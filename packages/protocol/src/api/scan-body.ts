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
  const keys = new Set<string>()
  let model: string | undefined
  let cacheSalt: string | undefined
  let stream = false
  const nested = { maxDepth: limits.maxDepth, valuesLeft: limits.maxValues }

  let at = skipSpace(bytes, 0)
  if (bytes[at] !== openBrace) throw malformed('expected an object', at)
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === closeBrace) return end(bytes, at, { model, stream, cacheSalt })
  for (;;) {
    if (bytes[at] !== quote) throw malformed('expected a key in double quotes', at)
    const keyEnd = endOfString(bytes, at)
    const key = decodeString(bytes, at, keyEnd)
    if (keys.has(key)) throw duplicate(key, at)
    if (keys.size >= limits.maxKeys) throw malformed(`more than ${limits.maxKeys} keys`, at)
    keys.add(key)

    at = skipSpace(bytes, keyEnd)
    if (bytes[at] !== colon) throw malformed("expected ':'", at)
    at = skipSpace(bytes, at + 1)
    const valueEnd = endOfValue(bytes, at, nested)
    if (key === 'model') model = readString(bytes, at, valueEnd, key)
    else if (key === 'cache_salt') cacheSalt = readString(bytes, at, valueEnd, key)
    else if (key === 'stream') stream = readBoolean(bytes, at, valueEnd)

    at = skipSpace(bytes, valueEnd)
    if (bytes[at] === closeBrace) return end(bytes, at, { model, stream, cacheSalt })
    if (bytes[at] !== comma) throw malformed("expected ',' or '}'", at)
    at = skipSpace(bytes, at + 1)
  }
}

function end(bytes: Uint8Array, closing: number, scan: BodyScan): BodyScan {
  const after = skipSpace(bytes, closing + 1)
  if (after < bytes.length) throw malformed('unexpected bytes after the object', after)
  return scan
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

/** The offset after the closing quote of the string that starts at `start`. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  for (;;) {
    // Most strings are short, where a loop is cheaper than a call; long ones use indexOf.
    const near = at + 16
    while (at < near && bytes[at] !== quote) at++
    const close = at < near ? at : bytes.indexOf(quote, at)
    if (close < 0 || close >= bytes.length) throw malformed('the string never ends', start)
    let before = close - 1
    while (bytes[before] === backslash) before--
    if ((close - before) % 2 === 1) return close + 1
    at = close + 1
  }
}

type NestedLimits = { readonly maxDepth: number; valuesLeft: number }

function endOfValue(bytes: Uint8Array, start: number, nested: NestedLimits): number {
  const first = bytes[start]
  if (first === quote) return endOfString(bytes, start)
  if (first === openBrace || first === openBracket) return endOfNested(bytes, start, nested)
  return endOfScalar(bytes, start)
}

function endOfNested(bytes: Uint8Array, start: number, nested: NestedLimits): number {
  const { maxDepth } = nested
  const closers: number[] = []
  let at = start
  let { valuesLeft } = nested
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === quote) {
      at = endOfString(bytes, at)
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
        nested.valuesLeft = valuesLeft
        return at + 1
      }
    } else if (byte === comma && --valuesLeft < 0) throw malformed('too many values', at)
    at++
  }
  throw malformed('the value never ends', start)
}

const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const maxScalarBytes = 1024

function endOfScalar(bytes: Uint8Array, start: number): number {
  let at = start
  while (at < bytes.length && at - start <= maxScalarBytes && isScalarByte(bytes[at])) at++
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
