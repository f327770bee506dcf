/** One choice of a chat answer: its deltas as they arrive, and the complete message at the end. */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../engine.ts'
import type { OutputPart } from '../output/output-part.ts'
import type { GenerationEnd, ScoredToken } from '../scheduling/generation-task.ts'
import type { TokenText } from '../scheduling/token-text.ts'
import { formatChatScore } from './logprob-format.ts'

type Call = { readonly id: string; readonly name: string; arguments: string }

export class ChatChoice {
  readonly #text: TokenText
  readonly #calls: Call[] = []
  readonly #scores: JsonObject[] = []
  #unsentScores: JsonObject[] = []
  #content = ''
  #reasoning = ''

  constructor(text: TokenText) {
    this.#text = text
  }

  addScore(score: ScoredToken | undefined): void {
    if (score === undefined) return
    const formatted = formatChatScore(score, this.#text)
    this.#scores.push(formatted)
    this.#unsentScores.push(formatted)
  }

  /** One delta for each part, in order. */
  add(parts: readonly OutputPart[]): JsonObject[] {
    return parts.map((part) => this.#deltaOf(part))
  }

  /** The scores not yet emitted in a chunk. */
  takeScores(): JsonObject | null {
    if (this.#unsentScores.length === 0) return null
    const content = this.#unsentScores
    this.#unsentScores = []
    return { content, refusal: null }
  }

  finishReason(end: GenerationEnd): string {
    if (end === 'length') return 'length'
    return this.#calls.length > 0 ? 'tool_calls' : 'stop'
  }

  message(): JsonObject {
    const hasCalls = this.#calls.length > 0
    const tool_calls = this.#calls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    }))
    return {
      role: 'assistant',
      content: hasCalls && this.#content.trim() === '' ? null : this.#content,
      refusal: null,
      ...(this.#reasoning === ''
        ? {}
        : { reasoning: this.#reasoning, reasoning_content: this.#reasoning }),
      ...(hasCalls ? { tool_calls } : {}),
    }
  }

  logprobs(): JsonObject | null {
    return this.#scores.length === 0 ? null : { content: this.#scores, refusal: null }
  }

  #deltaOf(part: OutputPart): JsonObject {
    switch (part.kind) {
      case 'content':
        this.#content += part.text
        return { content: part.text }
      case 'reasoning':
        this.#reasoning += part.text
        return { reasoning: part.text, reasoning_content: part.text }
      case 'call': {
        const { index, name } = part
        const call = { id: `call_${randomBytes(12).toString('hex')}`, name, arguments: '' }
        this.#calls[index] = call
        const named = { name, arguments: '' }
        return { tool_calls: [{ index, id: call.id, type: 'function', function: named }] }
      }
      case 'arguments': {
        const call = this.#calls[part.index]
        if (call !== undefined) call.arguments += part.text
        return { tool_calls: [{ index: part.index, function: { arguments: part.text } }] }
      }
    }
  }
}
