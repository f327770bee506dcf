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

const formKey = Symbol('form')

type FormedChunk = JsonObject & { [formKey]?: ChunkForm }

export function repeatChunk(
  form: ChunkForm,
  text: string,
  usage: JsonObject | undefined,
): JsonObject {
  const { chunk, choice, field, isDelta } = form
  const own = isDelta
    ? { ...choice, delta: { ...(choice.delta as JsonObject), [field]: text } }
    : { ...choice, [field]: text }
  const repeated: FormedChunk = { ...chunk, choices: [own] }
  if (usage !== undefined) repeated.usage = usage
  repeated[formKey] = form
  return repeated
}

/** The form of a chunk that repeats others; undefined if it is the first of its form. */
export function formOf(chunk: JsonObject): ChunkForm | undefined {
  return (chunk as FormedChunk)[formKey]
}

export function textOf(chunk: JsonObject, { field, isDelta }: ChunkForm): string {
  const [choice] = chunk.choices as [JsonObject]
  return (isDelta ? (choice.delta as JsonObject)[field] : choice[field]) as string
}

/** A text that is found again in what was formatted from it. */
const mark = '[text of a repeated chunk]'

/**
 * Formats each form once, and only puts in the text of the chunks that repeat it. `format` must
 * depend on nothing but the chunk once an earlier chunk of the same choice was formatted.
 */
export class RepeatedFormat {
  readonly #format: (chunk: JsonObject) => string
  #form: ChunkForm | undefined
  #parts: readonly string[] = []

  constructor(format: (chunk: JsonObject) => string) {
    this.#format = format
  }

  write(chunk: JsonObject): string {
    const form = formOf(chunk)
    if (form === undefined) return this.#format(chunk)
    if (form !== this.#form) {
      this.#form = form
      this.#parts = this.#format(repeatChunk(form, mark, undefined)).split(mark)
    }
    if (this.#parts.length < 2) return this.#format(chunk)
    const text = JSON.stringify(textOf(chunk, form)).slice(1, -1)
    return this.#parts.length === 2
      ? `${this.#parts[0]}${text}${this.#parts[1]}`
      : this.#parts.join(text)
  }
}
