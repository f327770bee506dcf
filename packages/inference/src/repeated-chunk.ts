/** Chunks that repeat an earlier one except for their text: recognised, a writer need not format them again. */
import type { JsonObject } from './engine.ts'

/** What the chunks that repeat each other have in common. */
export type ChunkForm = {
  /** Everything of the chunk that is neither choices nor usage. */
  readonly chunk: JsonObject
  /** The only choice of the chunk. It has not finished. */
  readonly choice: JsonObject
  /** The only field with text: of the choice's delta, or of the choice itself. */
  readonly field: string
  readonly isDelta: boolean
}

const runKey = Symbol('run')

/** Texts of a form, in the order in which they arrived. None of them needs an escape in JSON. */
type Run = { readonly form: ChunkForm; readonly texts: readonly string[] }

type FormedChunk = JsonObject & { [runKey]?: Run }

/** One chunk with all of the texts; `RepeatedFormat` writes a chunk for each of them. */
export function repeatChunk(
  form: ChunkForm,
  texts: readonly string[],
  usage: JsonObject | undefined,
): JsonObject {
  const { chunk, choice, field, isDelta } = form
  const text = texts.length === 1 ? texts[0] : texts.join('')
  const own = isDelta
    ? { ...choice, delta: { ...(choice.delta as JsonObject), [field]: text } }
    : { ...choice, [field]: text }
  const repeated: FormedChunk = { ...chunk, choices: [own] }
  if (usage !== undefined) repeated.usage = usage
  repeated[runKey] = { form, texts }
  return repeated
}

/** A text that is found again in what was formatted from it. */
const mark = '[text of a repeated chunk]'

/**
 * Formats each form once, and only puts in the texts of the chunks that repeat it. `format` must
 * depend on nothing but the chunk once an earlier chunk of the same choice was formatted: the first
 * of all is formatted by itself.
 */
export class RepeatedFormat {
  readonly #format: (chunk: JsonObject) => string
  #hasFirst = false
  #form: ChunkForm | undefined
  #parts: readonly string[] = []

  constructor(format: (chunk: JsonObject) => string) {
    this.#format = format
  }

  write(chunk: JsonObject): string {
    const run = (chunk as FormedChunk)[runKey]
    if (run === undefined) return this.#format(chunk)
    const { form } = run
    let { texts } = run
    let first = ''
    if (!this.#hasFirst) {
      this.#hasFirst = true
      first = this.#format(repeatChunk(form, texts.slice(0, 1), undefined))
      texts = texts.slice(1)
    }
    if (texts.length === 0) return first
    if (form !== this.#form) {
      this.#form = form
      this.#parts = this.#format(repeatChunk(form, [mark], undefined)).split(mark)
    }
    const [before = '', after = ''] = this.#parts
    if (this.#parts.length === 2) return first + before + texts.join(after + before) + after
    return first + texts.map((text) => this.#write(form, text)).join('')
  }

  /** A text that is written more than once, or not at all. */
  #write(form: ChunkForm, text: string): string {
    if (this.#parts.length > 1) return this.#parts.join(text)
    return this.#format(repeatChunk(form, [text], undefined))
  }
}
