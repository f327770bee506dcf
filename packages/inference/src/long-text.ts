/**
 * Long texts of a request that are checked but neither decoded nor copied: a model server gets the
 * caller's own bytes.
 *
 * Decoding, parsing, formatting and encoding a prompt of 10 MB needs 40 MB of fresh memory, which
 * costs more than everything else that is done with it. Whatever is unusual about a body is left to
 * the parser.
 */
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from './engine.ts'

export type LongTextLimits = {
  /** Shorter texts are parsed. */
  readonly leastBytes: number
  /** A text is checked in pieces of this size. */
  readonly windowBytes: number
}

const defaultLimits: LongTextLimits = { leastBytes: 64 * 1024, windowBytes: 32 * 1024 }
/** After so many strings, the others are parsed. */
const maxStrings = 10_000
const longestEscape = 6
const quote = 0x22
const backslash = 0x5c
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Holds the place of a text while the rest is parsed or formatted. No caller knows it. */
const mark = randomBytes(16).toString('hex')

/** The texts of the value that is being formatted, in order. */
let formatted: LongText[] | undefined

export class LongText {
  readonly #json: Uint8Array

  /** `json` is a valid JSON string, with its quotation marks. */
  constructor(json: Uint8Array) {
    this.#json = json
  }

  get json(): Uint8Array {
    return this.#json
  }

  /** The text itself for everyone except `formatPieces`. */
  toJSON(): string {
    if (formatted === undefined) return JSON.parse(utf8.decode(this.#json))
    formatted.push(this)
    return mark
  }
}

export function isText(value: unknown): value is string | LongText {
  return typeof value === 'string' || value instanceof LongText
}

/** Formats JSON; in pieces if it has long texts. */
export function formatPieces(value: JsonObject): string | readonly Uint8Array[] {
  const texts: LongText[] = []
  let json: string
  formatted = texts
  try {
    json = JSON.stringify(value)
  } finally {
    formatted = undefined
  }
  if (texts.length === 0) return json
  const between = json.split(`"${mark}"`)
  if (between.length !== texts.length + 1) return JSON.stringify(value)
  return between.flatMap((part, at) => {
    const text = texts[at]
    return text === undefined ? [Buffer.from(part)] : [Buffer.from(part), text.json]
  })
}

/**
 * Parses a chat request that `scanBody` has accepted, with long contents as `LongText`. Undefined if
 * it has none, or if anything about it is for the parser to judge.
 */
export function parseLongTexts(
  given: Uint8Array,
  { leastBytes, windowBytes } = defaultLimits,
): JsonObject | undefined {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length)
  const texts = findTexts(bytes, leastBytes)
  if (texts.length === 0 || !texts.every((text) => isSound(text, windowBytes))) return undefined
  const parts: Uint8Array[] = []
  let at = 0
  texts.forEach((text, index) => {
    const start = text.byteOffset - bytes.byteOffset
    parts.push(bytes.subarray(at, start), Buffer.from(`"${mark}${index}"`))
    at = start + text.length
  })
  parts.push(bytes.subarray(at))
  try {
    const body = JSON.parse(utf8.decode(Buffer.concat(parts)))
    return putBack(body, texts) === texts.length ? body : undefined
  } catch {
    return undefined
  }
}

/** The long strings that are the value of a `content` or `text`, with their quotation marks. */
function findTexts(bytes: Buffer, leastBytes: number): Buffer[] {
  const texts: Buffer[] = []
  let start = bytes.indexOf(quote)
  for (let strings = 0; start >= 0 && strings < maxStrings; strings++) {
    const end = endOfString(bytes, start)
    if (end < 0) return []
    if (
      end - start >= leastBytes &&
      /"(?:content|text)"[ \t\r\n]*:[ \t\r\n]*$/.test(keyBefore(bytes, start))
    )
      texts.push(bytes.subarray(start, end))
    start = bytes.indexOf(quote, end)
  }
  return texts
}

const keyBefore = (bytes: Buffer, start: number) =>
  bytes.toString('latin1', Math.max(0, start - 64), start)

function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; ; at++) {
    // Where quotation marks are frequent, a loop is cheaper than a call.
    const near = at + 16
    while (at < near && bytes[at] !== quote) at++
    if (at === near) at = bytes.indexOf(quote, at)
    if (at < 0 || at >= bytes.length) return -1
    let before = at - 1
    while (bytes[before] === backslash) before--
    if ((at - before) % 2 === 1) return at + 1
  }
}

/** Whether a parser accepts a string, read in windows that need little memory. */
function isSound(json: Buffer, windowBytes: number): boolean {
  if (!isUtf8(json)) return false
  const last = json.length - 1
  for (let at = 1; at < last; ) {
    const end = endOfWindow(json, at, Math.min(at + windowBytes, last), last)
    if (end < 0) return false
    // Bytes instead of characters: JSON has no rule about those that are not ASCII.
    const text = json.toString('latin1', at, end)
    if (unusual.test(text) && !isString(`"${text}"`)) return false
    at = end
  }
  return true
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings must not contain them
const unusual = /[\0-\x1f"\\]/

/** No escape goes on after the end of a window; -1 if there are too many to find such an end. */
function endOfWindow(json: Buffer, start: number, most: number, last: number): number {
  if (most === last) return last
  for (let end = most; end > start && end > most - 4096; end--) {
    if (!json.subarray(end - longestEscape, end).includes(backslash)) return end
  }
  return -1
}

function isString(json: string): boolean {
  try {
    return typeof JSON.parse(json) === 'string'
  } catch {
    return false
  }
}

/** Puts the texts in their places; returns how many had one. */
function putBack(body: JsonObject, texts: readonly Buffer[]): number {
  const left = new Map(texts.map((text, index) => [`${mark}${index}`, text]))
  const replace = (owner: JsonObject, name: string) => {
    const place = owner[name]
    const text = typeof place === 'string' ? left.get(place) : undefined
    if (text === undefined) return
    left.delete(place as string)
    owner[name] = new LongText(text)
  }
  for (const message of listed(body.messages)) {
    replace(message, 'content')
    for (const part of listed(message.content)) replace(part, 'text')
  }
  return texts.length - left.size
}

function listed(value: unknown): JsonObject[] {
  const isObject = (one: unknown): one is JsonObject => typeof one === 'object' && one !== null
  return Array.isArray(value) ? value.filter(isObject) : []
}
