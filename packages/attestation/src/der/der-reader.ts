/** Reads DER (X.690) strictly: definite minimal lengths, bounded depth, no trailing bytes. */
import type { Bytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** Identifier octet of a context-specific tag, `[n]`. */
export const contextTag = (n: number, form: 'constructed' | 'primitive' = 'constructed'): number =>
  (form === 'constructed' ? 0xa0 : 0x80) | n

export type DerElement = {
  readonly tag: number
  readonly content: Bytes
  /** Identifier, length and content. */
  readonly raw: Bytes
}

// Certificates nest about ten levels deep; CRLs and OCSP responses a few more.
const maxDepth = 24

/** A cursor over the elements of one DER value; every violation is `evidence_malformed`. */
export class DerReader {
  readonly #bytes: Bytes
  readonly #depth: number
  #offset = 0

  constructor(bytes: Bytes, depth = 0) {
    if (depth > maxDepth) malformed(`nesting is deeper than ${maxDepth}`)
    this.#bytes = bytes
    this.#depth = depth
  }

  get atEnd(): boolean {
    return this.#offset === this.#bytes.length
  }

  /** The bytes not yet read. */
  get rest(): Bytes {
    return this.#bytes.subarray(this.#offset)
  }

  /** Identifier octet of the next element, or undefined at the end. */
  peekTag(): number | undefined {
    return this.#bytes[this.#offset]
  }

  /** Reads the next element, which must have the tag `expected` if given. */
  read(expected?: number): DerElement {
    const start = this.#offset
    const tag = this.#octet()
    if ((tag & 0x1f) === 0x1f) malformed('a tag number of 31 or more is not supported')
    if (expected !== undefined && tag !== expected) {
      malformed(`tag is 0x${tag.toString(16)}, expected 0x${expected.toString(16)}`)
    }
    const length = this.#length()
    const end = this.#offset + length
    if (end > this.#bytes.length) malformed('an element is longer than its container')
    const content = this.#bytes.subarray(this.#offset, end)
    this.#offset = end
    return { tag, content, raw: this.#bytes.subarray(start, end) }
  }

  /** Reads the next element if its tag is `tag`; otherwise does not advance. */
  readOptional(tag: number): DerElement | undefined {
    return this.peekTag() === tag ? this.read(tag) : undefined
  }

  /** Reads a constructed element and returns a cursor over its content. */
  enter(tag: number = tags.sequence): DerReader {
    return new DerReader(this.read(tag).content, this.#depth + 1)
  }

  enterOptional(tag: number): DerReader | undefined {
    return this.peekTag() === tag ? this.enter(tag) : undefined
  }

  /** Refuses unread bytes. */
  end(): void {
    if (!this.atEnd) malformed(`${this.#bytes.length - this.#offset} bytes follow the last element`)
  }

  readBoolean(): boolean {
    const { content } = this.read(tags.boolean)
    const value = content[0]
    if (content.length !== 1 || (value !== 0 && value !== 0xff)) malformed('boolean is not DER')
    return value === 0xff
  }

  /** Content octets of an INTEGER: two's complement, big-endian, minimal. */
  readIntegerBytes(tag: number = tags.integer): Bytes {
    const { content } = this.read(tag)
    const [first, second] = content
    if (first === undefined) malformed('integer is empty')
    if (second !== undefined) {
      if (first === 0 && second < 0x80) malformed('integer is not minimal')
      if (first === 0xff && second >= 0x80) malformed('integer is not minimal')
    }
    return content
  }

  /** A non-negative INTEGER (or ENUMERATED) that fits in 31 bits. */
  readSmallInteger(tag: number = tags.integer): number {
    const content = this.readIntegerBytes(tag)
    if (content.length > 4 || (content[0] ?? 0x80) >= 0x80) malformed('integer is out of range')
    return content.reduce((value, octet) => value * 256 + octet, 0)
  }

  /** Dotted decimal form of an OBJECT IDENTIFIER. */
  readOid(): string {
    return parseOid(this.read(tags.oid).content)
  }

  readOctetString(): Bytes {
    return this.read(tags.octetString).content
  }

  readNull(): void {
    if (this.read(tags.null).content.length !== 0) malformed('null is not empty')
  }

  /** A BIT STRING; if `wholeOctets`, unused bits are refused. */
  readBitString(wholeOctets = true): { readonly bytes: Bytes; readonly unusedBits: number } {
    const { content } = this.read(tags.bitString)
    const unusedBits = content[0] ?? 8
    const bytes = content.subarray(1)
    const last = bytes[bytes.length - 1]
    if (unusedBits > 7 || (last === undefined && unusedBits !== 0))
      malformed('bit string is not DER')
    if (last !== undefined && (last & ((1 << unusedBits) - 1)) !== 0) {
      malformed('bit string has padding bits set')
    }
    if (wholeOctets && unusedBits !== 0) malformed('bit string is not whole octets')
    return { bytes, unusedBits }
  }

  /** UTCTime or GeneralizedTime in the profile of RFC 5280, 4.1.2.5: seconds, Z, no fraction. */
  readTime(): Date {
    const { tag, content } = this.read()
    const text = String.fromCharCode(...content.subarray(0, 16))
    if (tag === tags.utcTime && content.length === 13) {
      const century = Number(text.slice(0, 2)) >= 50 ? '19' : '20'
      return parseTime(century + text)
    }
    if (tag === tags.generalizedTime && content.length === 15) return parseTime(text)
    return malformed('time is neither UTCTime nor GeneralizedTime with seconds')
  }

  #octet(): number {
    const octet = this.#bytes[this.#offset]
    if (octet === undefined) malformed('input ends inside an element')
    this.#offset++
    return octet
  }

  #length(): number {
    const first = this.#octet()
    if (first < 0x80) return first
    const count = first & 0x7f
    // None of our inputs needs a length of four octets; 0x80 is the indefinite form.
    if (count === 0 || count > 3) malformed('length is indefinite or too large')
    let length = 0
    for (let i = 0; i < count; i++) length = length * 256 + this.#octet()
    if (length < 0x80 || length < 256 ** (count - 1)) malformed('length is not minimal')
    return length
  }
}

/** Parses one DER value that fills `bytes`; `parse` must read all of it. */
export function parseDer<T>(bytes: Bytes, parse: (reader: DerReader) => T): T {
  const reader = new DerReader(bytes)
  const value = parse(reader)
  reader.end()
  return value
}

function parseOid(content: Bytes): string {
  if (content.length === 0 || content.length > 64) malformed('object identifier has a bad length')
  const arcs: bigint[] = []
  let arc = 0n
  let open = false
  for (const octet of content) {
    if (!open && octet === 0x80) malformed('object identifier is not minimal')
    arc = arc * 128n + BigInt(octet & 0x7f)
    open = octet >= 0x80
    if (open) continue
    arcs.push(arc)
    arc = 0n
  }
  if (open) malformed('object identifier ends inside an arc')
  const first = arcs[0] ?? 0n
  const root = first < 40n ? 0n : first < 80n ? 1n : 2n
  return [root, first - root * 40n, ...arcs.slice(1)].join('.')
}

function parseTime(text: string): Date {
  const match = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text)
  if (!match) malformed('time is not digits and Z')
  const [, year, month, day, hour, minute, second] = match
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const time = new Date(iso)
  // Date rolls 31 February over into March; a date that does not exist is refused instead.
  if (Number.isNaN(time.getTime()) || time.toISOString() !== iso) malformed('time does not exist')
  return time
}

function malformed(detail: string): never {
  throw new AttestationError('evidence_malformed', `der: ${detail}`)
}
