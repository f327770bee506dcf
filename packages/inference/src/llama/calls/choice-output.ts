/** Follows one choice from sampled tokens to what the caller sees. */

import type { NativeGrammarState } from '../model/native-binding.ts'
import { MarkerScanner } from '../output/marker-scanner.ts'
import type { OutputPart, OutputReader } from '../output/output-part.ts'
import type { SampledToken, TokenDecision } from '../scheduling/generation-task.ts'
import { TextStream, type TokenText } from '../scheduling/token-text.ts'

export type ChoiceOutputOptions = {
  readonly text: TokenText
  readonly reader: OutputReader
  readonly stops: readonly string[]
  /** Ends the answer like a stop string, but was not requested by the caller. */
  readonly silentStops: readonly string[]
  /** Control tokens that the reader must see as text. */
  readonly shownMarks: ReadonlySet<string>
  /** The grammar for a function call that has just started; undefined if calls need none. */
  readonly grammarAtCall: (() => NativeGrammarState) | undefined
  readonly endsAfterCall: boolean
}

export class ChoiceOutput {
  readonly #options: ChoiceOutputOptions
  readonly #stream: TextStream
  readonly #stopScanner = new MarkerScanner()
  #isStopped = false
  #isConstrained = false
  /** The stop string that ended the text. */
  stopReason: string | null = null
  reasoningTokens = 0

  constructor(options: ChoiceOutputOptions) {
    this.#options = options
    this.#stream = new TextStream(options.text)
  }

  push({ token, isEnd }: SampledToken): { parts: OutputPart[]; decision: TokenDecision } {
    const { reader, endsAfterCall } = this.#options
    const parts = this.#afterStops(reader.push(this.#textOf(token, isEnd)))
    if (reader.isReasoning) this.reasoningTokens++
    const hasEnded = this.#isStopped || (endsAfterCall && reader.finishedCalls > 0)
    return { parts, decision: hasEnded ? { kind: 'stop' } : this.#goOn() }
  }

  /** Returns what was held back in case it became a marker, a stop string or a complete character. */
  end(isCut: boolean): OutputPart[] {
    const { reader } = this.#options
    if (this.#isStopped) return []
    const parts = this.#afterStops([...reader.push(this.#stream.end()), ...reader.end(isCut)])
    const held = this.#isStopped ? '' : this.#stopScanner.end()
    return held === '' ? parts : [...parts, { kind: 'content', text: held }]
  }

  #goOn(): TokenDecision {
    const { reader, grammarAtCall } = this.#options
    if (!reader.isAtCall || this.#isConstrained || grammarAtCall === undefined)
      return { kind: 'continue' }
    this.#isConstrained = true
    return { kind: 'constrain', grammar: grammarAtCall() }
  }

  #textOf(token: number, isEnd: boolean): string {
    const { text, shownMarks } = this.#options
    const isHidden = (isEnd || text.isControl(token)) && !shownMarks.has(text.nameOf(token))
    return isHidden ? '' : this.#stream.push(token)
  }

  /** Stop strings apply to the answer only, not to reasoning or function calls. */
  #afterStops(parts: readonly OutputPart[]): OutputPart[] {
    const { stops, silentStops } = this.#options
    if (stops.length + silentStops.length === 0) return [...parts]
    const passed: OutputPart[] = []
    for (const part of parts) {
      if (part.kind !== 'content') {
        // What was held back is no stop string: it ends here, and comes before this part.
        const held = this.#stopScanner.end()
        if (held !== '') passed.push({ kind: 'content', text: held })
        passed.push(part)
        continue
      }
      const { before, marker } = this.#stopScanner.push(part.text, [...stops, ...silentStops])
      if (before !== '') passed.push({ kind: 'content', text: before })
      if (marker === undefined) continue
      this.#isStopped = true
      this.stopReason = stops.includes(marker) ? marker : null
      return passed
    }
    return passed
  }
}
