/** Reads the members of one JSON object: each is checked as it is read, and unread members are refused. */
import { type Bytes, formatHex, parseBase64, parseHex } from './bytes.ts'
import type { JsonObject, JsonValue } from './strict-json.ts'
import { AttestationError, type AttestationErrorCode } from './verdict.ts'

export type FieldCodes = {
  readonly malformed: AttestationErrorCode
  /** For members that this version does not know. */
  readonly unknown: AttestationErrorCode
  /** Appended to the refusal of an unknown member: what the user should do. */
  readonly remedy?: string
}

export type Range = { readonly min: number; readonly max: number }

export class Fields {
  readonly path: string
  readonly codes: FieldCodes
  readonly #object: JsonObject
  readonly #unread: Set<string>

  constructor(value: JsonValue, path: string, codes: FieldCodes) {
    this.path = path
    this.codes = codes
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new AttestationError(codes.malformed, `${path}: not an object`)
    }
    this.#object = value as JsonObject
    this.#unread = new Set(Object.keys(value))
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name)
  }

  /** Reads a member that may be absent. */
  optional<T>(name: string, read: (name: string) => T): T | undefined {
    return this.has(name) ? read(name) : undefined
  }

  value(name: string): JsonValue {
    const value = this.has(name) ? this.#object[name] : undefined
    if (value === undefined) return this.refuse(name, 'missing')
    this.#unread.delete(name)
    return value
  }

  /** A string of 1 to `max` characters, all printable. */
  text(name: string, max = 256): string {
    const value = this.value(name)
    if (typeof value !== 'string') return this.refuse(name, 'not a string')
    if (value.length < 1 || value.length > max) {
      return this.refuse(name, `${value.length} characters, expected 1 to ${max}`)
    }
    // Control and format characters could make a person read a different value than the program.
    if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(value)) this.refuse(name, 'not printable')
    return value
  }

  matching(name: string, pattern: RegExp, form: string): string {
    const value = this.text(name)
    return pattern.test(value) ? value : this.refuse(name, `expected ${form}`)
  }

  integer(name: string, range: Range = { min: 0, max: Number.MAX_SAFE_INTEGER }): number {
    const value = this.value(name)
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
      return this.refuse(name, 'not an integer')
    }
    if (value < range.min || value > range.max) {
      return this.refuse(name, `${value}, expected ${range.min} to ${range.max}`)
    }
    return value
  }

  boolean(name: string): boolean {
    const value = this.value(name)
    return typeof value === 'boolean' ? value : this.refuse(name, 'not true or false')
  }

  choice<const T extends string>(name: string, choices: readonly T[]): T {
    const value = this.value(name)
    const chosen = choices.find((choice) => choice === value)
    return chosen ?? this.refuse(name, `expected ${choices.join(' or ')}`)
  }

  /** Lower-case hex of exactly `length` bytes. */
  hex(name: string, length: number): string {
    return formatHex(this.hexBytes(name, length))
  }

  /** A list of distinct values, each lower-case hex of exactly `length` bytes. */
  hexes(name: string, length: number, range: Range): string[] {
    const items = this.array(name, range, (item, path) => {
      const bytes = typeof item === 'string' ? parseHex(item) : undefined
      if (typeof item === 'string' && bytes?.length === length) return item
      throw new AttestationError(
        this.codes.malformed,
        `${path}: expected ${length} bytes in lower-case hex`,
      )
    })
    if (new Set(items).size !== items.length) this.refuse(name, 'an item occurs twice')
    return items
  }

  hexBytes(name: string, length: number): Bytes {
    const value = this.value(name)
    if (typeof value !== 'string') return this.refuse(name, 'not a string')
    const bytes = parseHex(value)
    if (bytes?.length === length) return bytes
    return this.refuse(name, `expected ${length} bytes in lower-case hex`)
  }

  /** Standard base64 of `length` bytes, or of at most `length.max`. */
  base64(name: string, length: number | { readonly max: number }): Bytes {
    const value = this.value(name)
    if (typeof value !== 'string') return this.refuse(name, 'not a string')
    const bytes = parseBase64(value)
    if (bytes === undefined) return this.refuse(name, 'not base64')
    const fits = typeof length === 'number' ? bytes.length === length : bytes.length <= length.max
    const expected = typeof length === 'number' ? length : `at most ${length.max}`
    return fits ? bytes : this.refuse(name, `${bytes.length} bytes, expected ${expected}`)
  }

  /** RFC 3339 in UTC with whole seconds, so every instant has one representation. */
  instant(name: string): Date {
    const value = this.value(name)
    if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value)) {
      return this.refuse(name, 'expected a time as 2026-01-31T12:00:00Z')
    }
    const instant = new Date(value)
    // Some runtimes parse a date such as 30 February as another day.
    if (Number.isNaN(instant.getTime()) || formatInstant(instant) !== value) {
      return this.refuse(name, 'no such time')
    }
    return instant
  }

  array<T>(name: string, range: Range, read: (item: JsonValue, path: string) => T): T[] {
    const value = this.value(name)
    if (!Array.isArray(value)) return this.refuse(name, 'not an array')
    if (value.length < range.min || value.length > range.max) {
      return this.refuse(name, `${value.length} items, expected ${range.min} to ${range.max}`)
    }
    return value.map((item: JsonValue, index) => read(item, `${this.path}.${name}[${index}]`))
  }

  object<T>(name: string, read: (fields: Fields) => T): T {
    const fields = new Fields(this.value(name), `${this.path}.${name}`, this.codes)
    const result = read(fields)
    fields.end()
    return result
  }

  objects<T>(name: string, range: Range, read: (fields: Fields) => T): T[] {
    return this.array(name, range, (item, path) => {
      const fields = new Fields(item, path, this.codes)
      const result = read(fields)
      fields.end()
      return result
    })
  }

  /** For an object that this program does not use: what is in it does not matter. */
  skipRest(): void {
    this.#unread.clear()
  }

  /** Refuses unread members. */
  end(): void {
    for (const name of this.#unread) {
      const remedy = this.codes.remedy === undefined ? '' : `; ${this.codes.remedy}`
      throw new AttestationError(
        this.codes.unknown,
        `${this.path}: unknown field ${JSON.stringify(name)}${remedy}`,
      )
    }
  }

  refuse(name: string, reason: string): never {
    throw new AttestationError(this.codes.malformed, `${this.path}.${name}: ${reason}`)
  }
}

/** The inverse of {@link Fields.instant}; fractions of a second are truncated. */
export function formatInstant(instant: Date): string {
  return `${instant.toISOString().slice(0, 19)}Z`
}
