/**
 * Keeps text of a request from acting as control tokens.
 *
 * A template's own `<|im_end|>` must become a control token, the same characters in a message must
 * not: `</s>` in a piece of HTML would end the text for the model, and a document could impersonate
 * the system. Control token names inside messages are replaced with placeholders before the
 * template runs, and restored afterwards as plain text.
 */
import { tooLong } from './too-long.ts'

const open = '\uE000'
const close = '\uE001'
const placeholder = /\uE000(\d+)\uE001/

export type TextPiece = { readonly text: string; readonly isForeign: boolean }

/** Matches control token names, and our own placeholders if a message contains them. */
export function foreignPattern(controlNames: readonly string[]): RegExp {
  const names = [...controlNames, open].map((name) => RegExp.escape(name))
  return new RegExp(names.join('|'), 'g')
}

export class ForeignText {
  readonly #names: RegExp
  readonly #kept: string[] = []
  readonly #contextLength: number

  /**
   * Takes the result of `foreignPattern`, computed once per model. More names than a context has
   * tokens are refused: each costs several strings and calls of the tokenizer.
   */
  constructor(names: RegExp, contextLength: number) {
    this.#names = names
    this.#contextLength = contextLength
  }

  /** Returns the same value with every string in it made harmless. */
  protect<T>(value: T): T {
    if (typeof value === 'string') return this.#protectText(value) as T
    if (Array.isArray(value)) return value.map((item) => this.protect(item)) as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.#protectText(name), this.protect(item)]),
    ) as T
  }

  /** Splits rendered text at the placeholders. */
  split(rendered: string): TextPiece[] {
    if (this.#kept.length === 0) return [{ text: rendered, isForeign: false }]
    return rendered.split(placeholder).flatMap((text, at) => {
      const isForeign = at % 2 === 1
      const piece = isForeign ? (this.#kept[Number(text)] ?? '') : text
      return piece === '' ? [] : [{ text: piece, isForeign }]
    })
  }

  #protectText(text: string): string {
    return text.replace(this.#names, (name) => {
      const kept = this.#kept.push(name)
      if (kept > this.#contextLength) throw tooLong(kept, this.#contextLength, 'messages')
      return `${open}${kept - 1}${close}`
    })
  }
}
