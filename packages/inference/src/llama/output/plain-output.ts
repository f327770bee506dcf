/** Reads text with `<think>` and `<tool_call>` markers, as most open models write it. */
import { CallReader } from './call-reader.ts'
import { JsonValueScanner } from './json-value-scanner.ts'
import { MarkerScanner } from './marker-scanner.ts'
import type { OutputPart, OutputReader } from './output-part.ts'

const marks = {
  think: '<think>',
  thinkEnd: '</think>',
  call: '<tool_call>',
  callEnd: '</tool_call>',
} as const

export type PlainOutputOptions = {
  /** Whether the prompt already opened the model's reasoning. */
  readonly startsInReasoning: boolean
  readonly hasTools: boolean
}

type State = 'start' | 'reasoning' | 'content' | 'call'

export class PlainOutput implements OutputReader {
  readonly #hasTools: boolean
  readonly #scanner = new MarkerScanner()
  #state: State
  #call: CallReader | undefined
  #started = 0
  #isBehindMark: boolean
  #leading = ''
  /** The JSON string that a call's text is inside of: markers in it are text. */
  #quoted: JsonValueScanner | undefined
  finishedCalls = 0
  isAtCall = false

  constructor({ startsInReasoning, hasTools }: PlainOutputOptions) {
    this.#hasTools = hasTools
    this.#state = startsInReasoning ? 'reasoning' : 'start'
    this.#isBehindMark = startsInReasoning
  }

  get isReasoning(): boolean {
    return this.#state === 'reasoning'
  }

  push(text: string): OutputPart[] {
    const parts: OutputPart[] = []
    this.isAtCall = false
    let rest = text
    do {
      const inside = this.#quotedChars(rest)
      parts.push(...this.#take(rest.slice(0, inside)))
      const quote = this.#state === 'call' ? rest.indexOf('"', inside) : -1
      const piece = rest.slice(inside, quote < 0 ? undefined : quote)
      rest = rest.slice(inside + piece.length)
      const { before, marker, after } = this.#scanner.push(piece, this.#markers())
      parts.push(...this.#take(before))
      if (marker !== undefined) {
        rest = after + rest
        this.isAtCall = marker === marks.call && rest.trim() === ''
        parts.push(...this.#enter(marker))
      } else if (quote >= 0) {
        parts.push(...this.#take(this.#scanner.end()))
        if (this.#call?.isJson) this.#quoted = new JsonValueScanner()
        else {
          parts.push(...this.#take('"'))
          rest = rest.slice(1)
        }
      }
    } while (rest !== '')
    return parts
  }

  end(isCut: boolean): OutputPart[] {
    const held = this.#scanner.end()
    const parts = this.#take(isCut ? '' : held)
    if (this.#state === 'start' && this.#leading !== '')
      parts.push({ kind: 'content', text: this.#leading })
    if (this.#state === 'call') parts.push(...this.#endCall(isCut))
    return parts
  }

  /** How much of the text belongs to a string of a call's JSON; other text may contain markers. */
  #quotedChars(text: string): number {
    if (this.#quoted === undefined) return 0
    const chars = this.#quoted.push(text)
    if (this.#quoted.isDone) this.#quoted = undefined
    return chars
  }

  #markers(): readonly string[] {
    switch (this.#state) {
      case 'start':
        return this.#hasTools ? [marks.think, marks.call] : [marks.think]
      case 'reasoning':
        return [marks.thinkEnd]
      case 'content':
        return this.#hasTools ? [marks.call] : []
      case 'call':
        return [marks.callEnd]
    }
  }

  #take(text: string): OutputPart[] {
    if (text === '') return []
    if (this.#state === 'call') return this.#call?.push(text) ?? []
    if (this.#state === 'start') return this.#takeFirst(text)
    const kind = this.#state === 'reasoning' ? 'reasoning' : 'content'
    // Line breaks right after a marker belong to the marker.
    const shown = this.#isBehindMark ? text.replace(/^\n+/, '') : text
    if (shown === '') return []
    this.#isBehindMark = false
    return [{ kind, text: shown }]
  }

  /** White space at the very start is text only if no marker follows it. */
  #takeFirst(text: string): OutputPart[] {
    this.#leading += text
    if (this.#leading.trim() === '') return []
    this.#state = 'content'
    return [{ kind: 'content', text: this.#leading }]
  }

  #enter(marker: string): OutputPart[] {
    // Reasoning comes first or not at all: inside an answer the marker is text.
    if (marker === marks.think && this.#state !== 'start') return this.#take(marker)
    this.#isBehindMark = true
    switch (marker) {
      case marks.think:
        this.#state = 'reasoning'
        return []
      case marks.call:
        this.#state = 'call'
        this.#call = new CallReader(this.#started)
        return []
      case marks.callEnd: {
        const parts = this.#endCall(false)
        this.#state = 'content'
        return parts
      }
      default:
        this.#state = 'content'
        return []
    }
  }

  #endCall(isCut: boolean): OutputPart[] {
    const call = this.#call
    this.#call = undefined
    const parts = call?.end()
    if (call === undefined) return []
    // Text that is marked as a call but cannot be parsed as one is shown, unless it is only half of
    // one.
    if (parts === undefined)
      return isCut ? [] : [{ kind: 'content', text: `${marks.call}${call.text}${marks.callEnd}` }]
    this.#started++
    this.finishedCalls++
    return parts
  }
}
