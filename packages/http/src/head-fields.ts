/**
 * Header fields of an HTTP/1.1 message (RFC 9112, 5), read strictly.
 *
 * Anything two parsers could read differently is refused, because request smuggling relies on it.
 */
import { MessageError } from './message-error.ts'

const maxFields = 64
const maxNameLength = 128
const colon = 58
const space = 32
const tab = 9

// tchar (RFC 9110, 5.6.2), and field-vchar, obs-text, space and tab. Neither includes control characters.
const nameChars = charTable((code) => /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(code)))
const valueChars = charTable((code) => code === tab || (code >= space && code !== 127))

// A duplicate of one of these would make the message ambiguous.
const single = new Set([
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'transfer-encoding',
])

const framing = new Set(['content-length', 'transfer-encoding'])

/** Header fields by lower-case name: ours, or the platform's `Headers`. */
export type HeaderLookup = { get(name: string): string | null | undefined }

/** A few fields with lower-case names. For so few, a list is faster than a Map. */
export class Fields {
  readonly #names: string[] = []
  readonly #values: string[] = []

  get(name: string): string | undefined {
    const at = this.#names.indexOf(name)
    return at < 0 ? undefined : this.#values[at]
  }

  *[Symbol.iterator](): IterableIterator<[string, string]> {
    for (const [at, name] of this.#names.entries()) yield [name, this.#values[at] ?? '']
  }

  /** Adds a field; a repeated one is refused, or joined to the first if lists are legal. */
  add(name: string, value: string): void {
    const at = this.#names.indexOf(name)
    if (at < 0) {
      if (this.#names.length === maxFields) {
        throw new MessageError(431, 'there are too many header lines')
      }
      this.#names.push(name)
      this.#values.push(value)
    } else if (single.has(name) || name.startsWith('privatemode-')) {
      throw new MessageError(400, `duplicate header ${name}`)
    } else {
      this.#values[at] += `${name === 'cookie' ? '; ' : ', '}${value}`
    }
  }
}

/** Parses field lines from `start`; `text` is Latin-1 and ends with the last line's CRLF. */
export function parseFields(text: string, start: number): Fields {
  const fields = new Fields()
  let at = start
  while (at < text.length) {
    const nameEnd = skip(text, at, nameChars)
    if (nameEnd === at || nameEnd - at > maxNameLength || text.charCodeAt(nameEnd) !== colon) {
      throw malformed()
    }
    const valueEnd = skip(text, nameEnd + 1, valueChars)
    if (!text.startsWith('\r\n', valueEnd)) throw malformed()
    const name = nameOf(text, at, nameEnd)
    // Tabs are legal, but Node refuses them: only spaces are accepted around framing fields.
    if (framing.has(name) && text.slice(nameEnd, valueEnd).includes('\t')) throw malformed()
    fields.add(name, trimmed(text, nameEnd + 1, valueEnd))
    at = valueEnd + 2
  }
  return fields
}

/** How the body is delimited (RFC 9112, 6.3); undefined if the fields do not specify it. */
export function readFraming(fields: Fields): number | 'chunked' | undefined {
  const encoding = fields.get('transfer-encoding')
  const length = fields.get('content-length')
  if (encoding !== undefined) {
    if (length !== undefined)
      throw new MessageError(400, 'the message has both content-length and transfer-encoding')
    if (encoding.toLowerCase() !== 'chunked') {
      throw new MessageError(501, 'the only supported transfer-encoding is chunked')
    }
    return 'chunked'
  }
  if (length === undefined) return undefined
  if (!/^\d{1,15}$/.test(length)) throw new MessageError(400, 'content-length is not a number')
  return Number(length)
}

/** Whether a list such as `connection` contains a token. */
export function hasToken(value: string | undefined, token: string): boolean {
  if (value === undefined) return false
  return value.split(',').some((part) => part.trim().toLowerCase() === token)
}

/** The index of the first character that is not in the table. */
function skip(text: string, from: number, table: Uint8Array): number {
  let at = from
  while (at < text.length && table[text.charCodeAt(at)] === 1) at++
  return at
}

// The most common names, so that no string has to be allocated for them.
const known = [
  'accept',
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'date',
  'host',
  'privatemode-admission',
  'privatemode-key-ref',
  'privatemode-model',
  'privatemode-path',
  'privatemode-relay-mac',
  'privatemode-request-id',
  'privatemode-sent-at',
  'privatemode-workers',
  'transfer-encoding',
  'user-agent',
]
const knownByLength = Array.from({ length: maxNameLength + 1 }, (_, length) =>
  known.filter((name) => name.length === length),
)

/** `text` contains only name characters between `start` and `end`. */
function nameOf(text: string, start: number, end: number): string {
  for (const name of knownByLength[end - start] ?? []) {
    let at = 0
    // Bit 32 lower-cases letters, and leaves digits and the hyphen unchanged.
    while (at < name.length && (text.charCodeAt(start + at) | 32) === name.charCodeAt(at)) at++
    if (at === name.length) return name
  }
  return text.slice(start, end).toLowerCase()
}

/** Strips the spaces and tabs around a value. */
function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const isBlank = (code: number) => code === space || code === tab

const malformed = () => new MessageError(400, 'a header line is malformed')

function charTable(has: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (has(code) ? 1 : 0))
}
