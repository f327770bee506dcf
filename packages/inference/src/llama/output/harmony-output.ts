/** Reads OpenAI's Harmony format: messages in channels, delimited by control tokens. */
import { MarkerScanner } from './marker-scanner.ts'
import type { OutputPart, OutputReader } from './output-part.ts'

const header = ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>'] as const
const ends = ['<|end|>', '<|return|>', '<|call|>'] as const
/** Control tokens that must be kept as text, although others are dropped. */
export const harmonyMarks: readonly string[] = [...header, ...ends]

type Channel =
  | { readonly kind: 'reasoning' | 'content' }
  | { readonly kind: 'call'; readonly name: string }

export class HarmonyOutput implements OutputReader {
  readonly #scanner = new MarkerScanner()
  /** The text between `<|channel|>` and `<|message|>`; undefined inside a message. */
  #header: string | undefined
  #channel: Channel
  #started = 0
  finishedCalls = 0
  readonly isAtCall = false

  /** `startsInAnswer` if the prompt already opened the final channel. */
  constructor(startsInAnswer = false) {
    this.#header = startsInAnswer ? undefined : ''
    this.#channel = { kind: startsInAnswer ? 'content' : 'reasoning' }
  }

  get isReasoning(): boolean {
    return this.#header === undefined && this.#channel.kind === 'reasoning'
  }

  push(text: string): OutputPart[] {
    const parts: OutputPart[] = []
    let rest = text
    for (;;) {
      const { before, marker, after } = this.#scanner.push(rest, harmonyMarks)
      parts.push(...this.#take(before))
      if (marker === undefined) return parts
      parts.push(...this.#enter(marker))
      rest = after
    }
  }

  end(isCut: boolean): OutputPart[] {
    const held = this.#scanner.end()
    return this.#take(isCut ? '' : held)
  }

  #take(text: string): OutputPart[] {
    if (text === '') return []
    if (this.#header !== undefined) {
      this.#header += text
      return []
    }
    const channel = this.#channel
    if (channel.kind === 'call') return [{ kind: 'arguments', index: this.#started - 1, text }]
    return [{ kind: channel.kind, text }]
  }

  #enter(marker: string): OutputPart[] {
    switch (marker) {
      case '<|message|>':
        return this.#openMessage()
      case '<|channel|>':
      case '<|constrain|>':
        // The recipient may come before or after the channel.
        this.#header = `${this.#header ?? ''} `
        return []
      default:
        if (this.#header === undefined && this.#channel.kind === 'call') this.finishedCalls++
        this.#header = ''
        return []
    }
  }

  #openMessage(): OutputPart[] {
    const words = this.#header ?? ''
    this.#header = undefined
    const recipient = /\bto=(?:functions\.)?([\w.-]+)/.exec(words)?.[1]
    if (recipient !== undefined && recipient !== 'assistant') {
      this.#channel = { kind: 'call', name: recipient }
      return [{ kind: 'call', index: this.#started++, name: recipient }]
    }
    // Commentary without a recipient is a preamble for the user; analysis is reasoning.
    this.#channel = { kind: /\banalysis\b/.test(words) ? 'reasoning' : 'content' }
    return []
  }
}
