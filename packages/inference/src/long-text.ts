/**
 * Long texts of a request that are checked but neither decoded nor copied: a model server gets the
 * caller's own bytes.
 *
 * Decoding, parsing, formatting and encoding a prompt of 10 MB needs 40 MB of fresh memory, which
 * costs more than everything else that is done with it. `parseInTurns` finds and checks them.
 */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from './engine.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Holds the place of a text while the rest is formatted. No caller knows it. */
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
