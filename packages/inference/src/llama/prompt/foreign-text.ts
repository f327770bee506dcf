/**
 * Keeps text of a request from acting as control tokens.
 *
 * A template's own `<|im_end|>` must become a control token, the same letters in a message must
 * not: `</s>` in a piece of HTML would end the text for the model, and a document could pretend to
 * be the system. Names of control tokens inside messages are swapped for placeholders before the
 * template runs, and come back afterwards as plain text.
 */

const open = '\uE000'
const close = '\uE001'
const placeholder = /\uE000(\d+)\uE001/

export type TextPiece = { readonly text: string; readonly isForeign: boolean }

/** Finds names of control tokens, and our own placeholders where a message brings them along. */
export function foreignPattern(controlNames: readonly string[]): RegExp {
  const names = [...controlNames, open].map((name) => RegExp.escape(name))
  return new RegExp(names.join('|'), 'g')
}

export class ForeignText {
  readonly #names: RegExp
  readonly #kept: string[] = []

  /** Takes what `foreignPattern` made, once per model. */
  constructor(names: RegExp) {
    this.#names = names
  }

  /** The same value with every string in it made harmless. */
  protect<T>(value: T): T {
    if (typeof value === 'string') return this.#protectText(value) as T
    if (Array.isArray(value)) return value.map((item) => this.protect(item)) as T
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.#protectText(name), this.protect(item)]),
    ) as T
  }

  /** Cuts rendered text where placeholders are. */
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
      this.#kept.push(name)
      return `${open}${this.#kept.length - 1}${close}`
    })
  }
}
