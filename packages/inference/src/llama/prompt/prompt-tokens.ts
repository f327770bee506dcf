/** Converts prompts to tokens: rendered chats, plain text, and token ids from the caller. */
import { type LlamaModel, LlamaVocabularyType, type Token } from 'node-llama-cpp'
import { EngineError } from '../../engine.ts'
import type { TokenText } from '../scheduling/token-text.ts'
import { ForeignText, foreignPattern, type TextPiece } from './foreign-text.ts'
import { tooLong } from './too-long.ts'

/** Hardly any text has more characters per token; longer texts are checked before they are tokenized. */
const charsPerToken = 12
/** A text that is tokenized in parts can have a few tokens more at each seam. */
const tokensPerSeam = 16
/** Of most texts, to say roughly how many tokens there are in one that is not tokenized. */
const usualCharsPerToken = 4

export class PromptTokens {
  readonly #foreignPattern: RegExp
  readonly #model: LlamaModel
  readonly #vocabularySize: number
  readonly #contextLength: number
  /** No text with more characters fits into the context, whatever it says. */
  readonly #maxChars: number

  constructor(model: LlamaModel, text: TokenText, contextLength: number) {
    this.#model = model
    this.#vocabularySize = text.size
    this.#contextLength = contextLength
    this.#maxChars = contextLength * text.longestName
    this.#foreignPattern = foreignPattern(text.controlNames())
  }

  /**
   * Refuses a request that cannot fit, before anything is made of it: a template takes its time over
   * a million messages, and other callers wait meanwhile.
   */
  refuseUnfitting(values: unknown, param: string): void {
    const chars = countChars(values)
    if (chars <= this.#maxChars) return
    throw tooLong(Math.ceil(chars / usualCharsPerToken), this.#contextLength, param)
  }

  /** Refuses more messages or ids than there can be tokens, before looking at any. */
  refuseMore(count: number, param: string): void {
    if (count > this.#contextLength) throw tooLong(count, this.#contextLength, param)
  }

  /** Finds control token names in a request; there can be no more of them than tokens. */
  newForeignText(): ForeignText {
    return new ForeignText(this.#foreignPattern, this.#contextLength)
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
    this.refuseMore(ids.length, param)
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

  /** A tokenizer blocks everything else, so it reads a long text in parts, no further than a context holds. */
  #refuseHuge(text: string, param: string): void {
    const part = this.#contextLength * charsPerToken
    if (text.length <= part) return
    let tokens = 0
    let most = this.#contextLength
    for (let from = 0; from < text.length; from += part) {
      tokens += this.#model.tokenize(text.slice(from, from + part)).length
      if (tokens > most) {
        const share = Math.min(from + part, text.length) / text.length
        throw tooLong(Math.ceil(tokens / share), this.#contextLength, param)
      }
      most += tokensPerSeam
    }
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

/** Of all strings and names in a value; whatever else it has counts one each. */
function countChars(value: unknown): number {
  if (typeof value === 'string') return value.length + 1
  if (typeof value !== 'object' || value === null) return 1
  let chars = 1
  if (Array.isArray(value)) for (const item of value) chars += countChars(item)
  else for (const name in value) chars += name.length + countChars(value[name as never])
  return chars
}
