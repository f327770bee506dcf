/** Turns prompts into tokens: rendered chats, plain text, and token ids that a caller gives. */
import type { LlamaModel, Token } from 'node-llama-cpp'
import { EngineError } from '../../engine.ts'
import type { TokenText } from '../token-text.ts'
import { foreignPattern, type TextPiece } from './foreign-text.ts'

export class PromptTokens {
  readonly foreignPattern: RegExp
  readonly #model: LlamaModel
  readonly #vocabularySize: number

  constructor(model: LlamaModel, text: TokenText) {
    this.#model = model
    this.#vocabularySize = text.size
    this.foreignPattern = foreignPattern(text.controlNames())
  }

  /** A rendered chat: names of control tokens count as such, except in foreign pieces. */
  ofPieces(pieces: readonly TextPiece[]): number[] {
    const tokens = pieces.flatMap(({ text, isForeign }, at) =>
      at === 0 ? this.#model.tokenize(text, !isForeign) : this.#goOn(text, !isForeign),
    )
    return this.#withStart(tokens)
  }

  ofText(text: string): number[] {
    return this.#withStart(this.#model.tokenize(text, true))
  }

  ofIds(ids: readonly unknown[], param: string): number[] {
    return ids.map((id) => {
      if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= this.#vocabularySize)
        throw new EngineError(
          'invalid_value',
          `token ids must be whole numbers from 0 to ${this.#vocabularySize - 1}`,
          { param },
        )
      return id as number
    })
  }

  /** SentencePiece puts a space before every text; one that goes on must not get it. */
  #goOn(text: string, hasControls: boolean): Token[] {
    const lead = this.#model.tokenize('\n', hasControls)
    const all = this.#model.tokenize(`\n${text}`, hasControls)
    const isApart = lead.every((token, at) => token === all[at])
    return isApart ? all.slice(lead.length) : this.#model.tokenize(text, hasControls)
  }

  #withStart(tokens: readonly Token[]): number[] {
    const { bos, shouldPrependBosToken } = this.#model.tokens
    const hasStart = bos === null || tokens[0] === bos || !shouldPrependBosToken
    return hasStart ? [...tokens] : [bos, ...tokens]
  }
}
