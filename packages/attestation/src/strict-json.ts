/** A JSON parser (RFC 8259) that refuses anything two parsers could read differently. */
import { AttestationError, type AttestationErrorCode } from './verdict.ts'

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export type JsonObject = { readonly [name: string]: JsonValue }

export type JsonLimits = {
  /** Names the document in error messages, for example "manifest". */
  readonly what: string
  readonly code: AttestationErrorCode
  readonly maxBytes: number
  readonly maxDepth?: number
}

/** Parses one document: valid UTF-8, no byte order mark, no duplicate names in an object. */
export function parseJson(bytes: Uint8Array, limits: JsonLimits): JsonValue {
  const refuse = (reason: string): never => {
    throw new AttestationError(limits.code, `${limits.what}: ${reason}`)
  }
  if (bytes.length > limits.maxBytes) {
    refuse(`${bytes.length} bytes, expected at most ${limits.maxBytes}`)
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return refuse('not valid UTF-8')
  }
  return new Parser(text, limits.maxDepth ?? 16, refuse).document()
}

const numberToken = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const wordToken = /true|false|null/y
const words: { readonly [word: string]: JsonValue } = { true: true, false: false, null: null }

class Parser {
  readonly #text: string
  readonly #maxDepth: number
  readonly #refuse: (reason: string) => never
  #at = 0

  constructor(text: string, maxDepth: number, refuse: (reason: string) => never) {
    this.#text = text
    this.#maxDepth = maxDepth
    this.#refuse = refuse
  }

  document(): JsonValue {
    const value = this.#value(0)
    this.#space()
    if (this.#at !== this.#text.length) this.#unexpected()
    return value
  }

  #value(depth: number): JsonValue {
    this.#space()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth + 1)
      case '[':
        return this.#array(depth + 1)
      case '"':
        return this.#string()
      case 't':
      case 'f':
      case 'n':
        return words[this.#token(wordToken)] ?? null
      default:
        return this.#number()
    }
  }

  #object(depth: number): JsonObject {
    this.#enter(depth)
    // No prototype: a member named "__proto__" or "constructor" is only a name.
    const object: { [name: string]: JsonValue } = Object.create(null)
    if (this.#skip('}')) return object
    do {
      this.#space()
      const name = this.#string()
      if (name in object) this.#refuse(`member ${JSON.stringify(name)} occurs twice`)
      this.#expect(':')
      object[name] = this.#value(depth)
    } while (this.#skip(','))
    this.#expect('}')
    return object
  }

  #array(depth: number): readonly JsonValue[] {
    this.#enter(depth)
    const array: JsonValue[] = []
    if (this.#skip(']')) return array
    do array.push(this.#value(depth))
    while (this.#skip(','))
    this.#expect(']')
    return array
  }

  #string(): string {
    if (this.#text[this.#at] !== '"') this.#unexpected()
    // Found by search, not by a pattern: strings of several megabytes are common here (reference
    // manifests).
    let end = this.#text.indexOf('"', this.#at + 1)
    while (end !== -1 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    if (end === -1) return this.#refuse('not JSON: a string has no end')
    const token = this.#text.slice(this.#at, end + 1)
    this.#at = end + 1
    let text: string
    try {
      text = JSON.parse(token)
    } catch {
      return this.#refuse('not JSON: a string has a bad escape or a control character')
    }
    if (/\p{Surrogate}/u.test(text)) this.#refuse('a string has half of a surrogate pair')
    return text
  }

  #isEscaped(position: number): boolean {
    let start = position
    while (this.#text[start - 1] === '\\') start -= 1
    return (position - start) % 2 === 1
  }

  #number(): number {
    const value = Number(this.#token(numberToken))
    return Number.isFinite(value) ? value : this.#refuse('a number is too large')
  }

  #token(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const token = pattern.exec(this.#text)?.[0] ?? this.#unexpected()
    this.#at += token.length
    return token
  }

  #enter(depth: number): void {
    if (depth > this.#maxDepth) this.#refuse(`nested deeper than ${this.#maxDepth}`)
    this.#at += 1
  }

  #skip(character: string): boolean {
    this.#space()
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #expect(character: string): void {
    if (!this.#skip(character)) this.#unexpected()
  }

  #space(): void {
    while (' \n\r\t'.includes(this.#text[this.#at] ?? '.')) this.#at += 1
  }

  #unexpected(): never {
    const seen = this.#at < this.#text.length ? 'unexpected character' : 'unexpected end'
    return this.#refuse(`not JSON: ${seen} at ${this.#at}`)
  }
}
