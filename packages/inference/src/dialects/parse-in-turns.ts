/**
 * Parses a long body a part at a time, so that other requests are served in between: parsing 34 MB at
 * once would block them for up to 400 ms.
 *
 * The body is split between the members of its objects and lists, however deep, and the parser gets
 * some of them at a time; long strings are read in windows. The result is what a parser makes of the
 * whole body. Refused are, besides what `scanBody` refuses, keys, numbers and white space of more than
 * 64 KiB, and more than 500,000 keys, objects and lists.
 */
import { isUtf8 } from 'node:buffer'
import { ApiError, defaultScanLimits, type ScanLimits } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { LongText } from '../long-text.ts'

export type TurnLimits = {
  /** Read and parsed in one turn. */
  readonly turnBytes: number
  readonly turnValues: number
  /** Longer strings are read in windows. */
  readonly shortBytes: number
  readonly windowBytes: number
  readonly scan: ScanLimits
}

export const defaultTurnLimits: TurnLimits = {
  turnBytes: 128 * 1024,
  turnValues: 16 * 1024,
  shortBytes: 64 * 1024,
  windowBytes: 32 * 1024,
  scan: defaultScanLimits,
}

/** Throws an `ApiError`. Long contents of messages become a `LongText` if `takesLongTexts`. */
export async function parseInTurns(
  bytes: Uint8Array,
  takesLongTexts: boolean,
  giveTurn: () => Promise<void>,
  limits = defaultTurnLimits,
): Promise<JsonObject> {
  const parser = new PartialParser(bytes, takesLongTexts, limits)
  for (;;) {
    await giveTurn()
    const parsed = parser.parseMore()
    if (parsed !== undefined) return parsed
  }
}

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const longestEscape = 6
/** Keys, objects and lists count as several values: parsing them takes so much more time and memory. */
const keyCost = 4
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings must not contain them
const unusual = /[\0-\x1f"\\]/

/** An object or a list that is not closed yet. */
type Container = {
  readonly isObject: boolean
  readonly start: number
  /** What was parsed of it; undefined as long as its text is parsed as a part of its owner's. */
  value: JsonObject | unknown[] | undefined
  /** Where the text starts that is not parsed yet. */
  from: number
  /** Where the current member starts. */
  member: number
  /** The key of the current member, if that is parsed by itself. */
  key: string
  /** Whether the current member was parsed by itself: only a comma or the end may follow. */
  filled: boolean
  hasMembers: boolean
}

/** `text` is undefined if it becomes a `LongText`. */
type LongString = { readonly start: number; text: string | undefined }

class PartialParser {
  readonly #bytes: Buffer
  readonly #takesLongTexts: boolean
  readonly #limits: TurnLimits
  readonly #open: Container[] = []
  #at = 0
  /** Everything before it is parsed. */
  #parsedTo = 0
  #afterToken = 0
  #valuesLeft: number
  /** Values left when something was parsed last. */
  #parsedWith: number
  #topKeys = 0
  /** The next quotation mark after the last place where one was looked for; strings do not end before. */
  #quoteAt = -1
  #long: LongString | undefined

  constructor(bytes: Uint8Array, takesLongTexts: boolean, limits: TurnLimits) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#takesLongTexts = takesLongTexts
    this.#limits = limits
    this.#valuesLeft = this.#parsedWith = limits.scan.maxValues
  }

  /** The whole object, or undefined if there is more to parse. */
  parseMore(): JsonObject | undefined {
    const bytes = this.#bytes
    if (this.#open.length === 0) this.#begin()
    const until = Math.min(this.#at + this.#limits.turnBytes, bytes.length)
    const values = this.#valuesLeft - this.#limits.turnValues
    while (this.#at < until && this.#valuesLeft > values) {
      if (this.#long !== undefined) {
        this.#readWindow(this.#long)
        continue
      }
      switch (bytes[this.#at]) {
        case quote:
          this.#readString()
          continue
        case openBrace:
        case openBracket:
          this.#enter(bytes[this.#at] === openBrace)
          break
        case closeBrace:
        case closeBracket: {
          const whole = this.#leave(bytes[this.#at] === closeBrace)
          if (whole !== undefined) return whole
          break
        }
        case comma:
          this.#endMember()
          break
      }
      this.#at++
    }
    if (this.#at >= bytes.length) throw this.#malformed('it never ends')
    return undefined
  }

  get #current(): Container {
    const current = this.#open.at(-1)
    if (current === undefined) throw this.#malformed('expected an object')
    return current
  }

  #begin(): void {
    while (this.#at <= this.#limits.shortBytes && isSpace(this.#bytes[this.#at])) this.#at++
    if (this.#bytes[this.#at] !== openBrace) throw this.#malformed('expected an object')
    this.#token(this.#at)
    this.#open.push({ ...container(true, this.#at), value: {} })
    this.#parsedTo = ++this.#at
  }

  #enter(isObject: boolean): void {
    const { maxDepth } = this.#limits.scan
    this.#token(this.#at)
    if (this.#open.length >= maxDepth) throw this.#malformed(`nested deeper than ${maxDepth}`)
    this.#count(keyCost)
    this.#open.push(container(isObject, this.#at))
    if (this.#isDue) this.#parseOwners()
  }

  #leave(isObject: boolean): JsonObject | undefined {
    this.#token(this.#at)
    const left = this.#open.pop()
    if (left?.isObject !== isObject) throw this.#malformed('brackets do not match')
    if (left.value === undefined) return undefined
    if (!left.filled && !this.#isBlank(left.from, this.#at)) this.#parseMembers(left, this.#at)
    else if (left.filled ? !this.#isBlank(left.from, this.#at) : left.hasMembers) {
      throw this.#malformed('expected a value')
    }
    this.#parsedTo = this.#at + 1
    const owner = this.#open.at(-1)
    if (owner !== undefined) {
      this.#fill(owner, left.value, this.#at + 1)
      return undefined
    }
    this.#token(this.#bytes.length)
    if (!this.#isBlank(this.#at + 1, this.#bytes.length)) {
      throw this.#malformed('unexpected bytes after the object')
    }
    return left.value as JsonObject
  }

  #endMember(): void {
    const current = this.#current
    const isTop = this.#open.length === 1
    this.#token(this.#at)
    if (!isTop) this.#count(current.isObject ? keyCost : 1)
    if (current.filled) {
      if (!this.#isBlank(current.from, this.#at)) throw this.#malformed("expected ','")
      current.filled = false
      current.from = this.#at + 1
    } else if (isTop || this.#isDue) {
      // Members of the body itself are parsed one by one: none of them may come twice.
      this.#parseOwners()
      this.#parseMembers(current, this.#at)
    }
    current.member = this.#at + 1
  }

  #count(values: number): void {
    this.#valuesLeft -= values
    if (this.#valuesLeft < 0) throw this.#malformed('too many values')
  }

  get #isDue(): boolean {
    const { turnBytes, turnValues } = this.#limits
    return (
      this.#at - this.#parsedTo >= turnBytes || this.#parsedWith - this.#valuesLeft >= turnValues
    )
  }

  /** Parses everything before the current member of the innermost container. */
  #parseOwners(): void {
    this.#open.forEach((owner, index) => {
      const inner = this.#open[index + 1]
      if (inner === undefined) owner.value ??= owner.isObject ? {} : []
      else if (inner.value === undefined) this.#parseUpTo(owner, inner.start)
    })
    this.#parsedTo = this.#at
    this.#parsedWith = this.#valuesLeft
  }

  /** Parses what comes before a member that starts there, and its key. */
  #parseUpTo(owner: Container, start: number): void {
    owner.value ??= owner.isObject ? {} : []
    if (owner.filled) throw this.#malformed("expected ','")
    if (owner.member > owner.from) this.#parseMembers(owner, owner.member - 1)
    const before = this.#text(owner.member, start)
    if (!owner.isObject) {
      if (before.trim() !== '') throw this.#malformed("expected ','")
      return
    }
    const [key, more] = Object.keys(this.#parse(`{${before}null}`))
    if (key === undefined || more !== undefined) throw this.#malformed('expected a key')
    owner.key = key
  }

  /** Parses the members whose text ends there. */
  #parseMembers(owner: Container, end: number): void {
    const text = this.#text(owner.from, end)
    if (owner.isObject) {
      const members = this.#parse(`{${text}}`) as JsonObject
      const keys = Object.keys(members)
      if (keys.length === 0) throw this.#malformed('expected a key')
      for (const key of keys) this.#put(owner, key, members[key])
    } else {
      const members = this.#parse(`[${text}]`) as unknown[]
      if (members.length === 0) throw this.#malformed('expected a value')
      for (const member of members) this.#put(owner, '', member)
    }
    owner.from = end + 1
    this.#parsedTo = end
    this.#parsedWith = this.#valuesLeft
  }

  #fill(owner: Container, value: unknown, end: number): void {
    this.#put(owner, owner.key, value)
    owner.filled = true
    owner.from = end
    this.#parsedTo = end
  }

  #put(owner: Container, key: string, value: unknown): void {
    owner.hasMembers = true
    if (Array.isArray(owner.value)) {
      owner.value.push(value)
      return
    }
    const object = owner.value as JsonObject
    if (owner === this.#open[0] || this.#open.length === 0) this.#countKey(object, key)
    // As a parser does it: an assignment would set the prototype.
    if (key === '__proto__') {
      const own = { value, writable: true, enumerable: true, configurable: true }
      Object.defineProperty(object, key, own)
    } else object[key] = value
  }

  #countKey(top: JsonObject, key: string): void {
    const { maxKeys } = this.#limits.scan
    if (Object.hasOwn(top, key)) throw this.#malformed('it has a key twice')
    if (++this.#topKeys > maxKeys) throw this.#malformed(`more than ${maxKeys} keys`)
  }

  #readString(): void {
    this.#token(this.#at)
    const close = this.#findClose(this.#at + 1, this.#at + this.#limits.shortBytes)
    if (close >= 0) {
      this.#at = this.#afterToken = close + 1
      return
    }
    this.#parseOwners()
    this.#parseUpTo(this.#current, this.#at)
    const isLongText = this.#takesLongTexts && isContent(this.#open)
    this.#long = { start: this.#at, text: isLongText ? undefined : '' }
    this.#at++
  }

  #readWindow(long: LongString): void {
    const from = this.#at
    const most = Math.min(from + this.#limits.windowBytes, this.#bytes.length)
    const close = this.#findClose(from, most)
    if (close < 0 && most === this.#bytes.length) throw this.#malformed('a string never ends')
    const window = this.#bytes.subarray(from, close < 0 ? this.#endOfWindow(from, most) : close)
    if (long.text === undefined) {
      if (!isUtf8(window)) throw notUtf8()
      // Bytes instead of characters: JSON has no rule about those that are not ASCII.
      const text = window.toString('latin1')
      if (unusual.test(text)) this.#parse(`"${text}"`)
    } else {
      const text = decode(window)
      long.text += unusual.test(text) ? String(this.#parse(`"${text}"`)) : text
    }
    this.#at = from + window.length
    if (close < 0) return
    this.#long = undefined
    const end = close + 1
    this.#at = this.#afterToken = end
    const value = long.text ?? new LongText(this.#bytes.subarray(long.start, end))
    this.#fill(this.#current, value, end)
  }

  /** The quotation mark that ends a string, before `most`; no escape goes on at `from`. Otherwise -1. */
  #findClose(from: number, most: number): number {
    for (let at = from; ; at++) {
      // Where quotation marks are frequent, a loop is cheaper than a call.
      const near = Math.min(at + 16, most)
      while (at < near && this.#bytes[at] !== quote) at++
      if (at === near) {
        if (this.#quoteAt < at) this.#quoteAt = this.#bytes.indexOf(quote, at)
        if (this.#quoteAt < 0) throw this.#malformed('a string never ends')
        at = this.#quoteAt
      }
      if (at >= most) return -1
      if (this.#backslashesBefore(at, from) % 2 === 0) return at
    }
  }

  #backslashesBefore(end: number, from: number): number {
    let at = end - 1
    while (at >= from && this.#bytes[at] === backslash) at--
    return end - 1 - at
  }

  /** Neither an escape nor a character goes on after the end of a window. */
  #endOfWindow(from: number, most: number): number {
    const near = Math.max(from, most - longestEscape)
    const last = near + this.#bytes.subarray(near, most).lastIndexOf(backslash)
    if (last >= near && this.#backslashesBefore(last + 1, from) % 2 === 1) return last
    let end = most
    while (end > from + 1 && end > most - 3 && isContinued(this.#bytes[end])) end--
    return end
  }

  #parse(json: string): JsonObject | unknown[] {
    try {
      return JSON.parse(json)
    } catch {
      // The parser's own message quotes the body.
      throw this.#malformed('a nested value is malformed')
    }
  }

  #text(from: number, end: number): string {
    return decode(this.#bytes.subarray(from, end))
  }

  #isBlank(from: number, end: number): boolean {
    let at = from
    while (at < end && isSpace(this.#bytes[at])) at++
    return at >= end
  }

  /** Between two tokens there is at most a number, a literal or white space. */
  #token(at: number): void {
    if (at - this.#afterToken > this.#limits.shortBytes) {
      throw this.#malformed('a number or white space is too long')
    }
    this.#afterToken = at + 1
  }

  #malformed(what: string): ApiError {
    const place = `(at byte ${Math.min(this.#at, this.#bytes.length)})`
    return new ApiError('invalid_json', `body is not valid JSON: ${what} ${place}`)
  }
}

const container = (isObject: boolean, start: number): Container => ({
  ...{ isObject, start, value: undefined, from: start + 1, member: start + 1 },
  ...{ key: '', filled: false, hasMembers: false },
})

/** Whether the current member is the text of a message: `messages[].content` or `…content[].text`. */
function isContent(open: readonly Container[]): boolean {
  const [top, messages, message, contents, part] = open
  if (open.length > 5 || top?.key !== 'messages' || messages?.isObject !== false) return false
  if (message?.isObject !== true || message.key !== 'content') return false
  if (contents === undefined) return true
  return !contents.isObject && part?.isObject === true && part.key === 'text'
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw notUtf8()
  }
}

const notUtf8 = () => new ApiError('invalid_json', 'body is not valid UTF-8')

const isSpace = (byte: number | undefined) =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const isContinued = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80
