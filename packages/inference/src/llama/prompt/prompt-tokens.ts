/** Converts prompts to tokens: rendered chats, plain text, and token ids from the caller. */
import { type LlamaModel, LlamaVocabularyType, type Token } from 'node-llama-cpp'
import { EngineError } from '../../engine.ts'
import type { TokenText } from '../scheduling/token-text.ts'
import { foreignPattern, type TextPiece } from './foreign-text.ts'

/** Hardly any text has more characters per token; longer texts are checked before they are tokenized. */
const charsPerToken = 12

export class PromptTokens {
  readonly foreignPattern: RegExp
  readonly #model: LlamaModel
  readonly #vocabularySize: number
  readonly #contextLength: number

  constructor(model: LlamaModel, text: TokenText, contextLength: number) {
    this.#model = model
    this.#vocabularySize = text.size
    this.#contextLength = contextLength
    this.foreignPattern = foreignPattern(text.controlNames())
  }

  /** A rendered chat: control token names count as such, except in pieces from messages. */
  ofPieces(pieces: readonly TextPiece[]): number[] {
    this.#refuseHuge(pieces.map(({ text }) => text).join(''), 'messages')
    const tokens = pieces.flatMap(({ text, isForeign }, at) =>
      at === 0 ? this.#model.tokenize(text, !isForeign) : this.#goOn(text, !isForeign),
    )
    return this.#withStart(tokens)
  }

  ofText(text: string): number[] {
    this.#refuseHuge(text, 'prompt')
    return this.#withStart(this.#model.tokenize(text, true))
  }

  /** A text to embed, with the start and end tokens the model was trained with. */
  ofEmbedding(text: string): number[] {
    this.#refuseHuge(text, 'input')
    const { bos, eos, sep, shouldPrependBosToken, shouldAppendEosToken } = this.#model.tokens
    const tokens: number[] = [...this.#model.tokenize(text)]
    const isWordPiece = this.#model.vocabularyType === LlamaVocabularyType.wpm
    const end = isWordPiece ? sep : shouldAppendEosToken ? eos : null
    if ((isWordPiece || shouldPrependBosToken) && bos !== null) tokens.unshift(bos)
    if (end !== null) tokens.push(end)
    return tokens
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

  /** A tokenizer blocks everything else, so text that cannot fit is refused by looking at its start. */
  #refuseHuge(text: string, param: string): void {
    const beginning = this.#contextLength * charsPerToken
    if (text.length <= beginning) return
    const tokens = this.#model.tokenize(text.slice(0, beginning)).length
    if (tokens <= this.#contextLength) return
    throw tooLong(Math.ceil((tokens * text.length) / beginning), this.#contextLength, param)
  }

  /** SentencePiece puts a space before every text; a continuation must not get one. */
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

export const tooLong = (promptTokens: number, contextLength: number, param: string): EngineError =>
  new EngineError(
    'context_length_exceeded',
    `this model's maximum context length is ${contextLength} tokens, but there are ${promptTokens} tokens: shorten the text`,
    { param, promptTokens },
  )
