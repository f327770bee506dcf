/** The bytes of a token: text that may end in the middle of a character. */
import { type LlamaModel, LlamaVocabularyType } from 'node-llama-cpp'

/** Token types of GGUF. */
const tokenTypes = { unknown: 2, control: 3, userDefined: 4, byte: 6 } as const

export class TokenText {
  readonly size: number
  /** No token stands for more characters than its name has. */
  readonly longestName: number
  readonly #model: LlamaModel
  readonly #texts: readonly string[]
  readonly #types: readonly number[]
  readonly #bytes = new Map<number, Uint8Array>()
  readonly #byteOfChar: ReadonlyMap<string, number>

  constructor(model: LlamaModel) {
    const { tokens, token_type: types } = model.fileInfo.metadata.tokenizer.ggml
    this.#model = model
    this.#texts = tokens
    this.#types = types ?? []
    this.#byteOfChar = byteAlphabet()
    this.size = tokens.length
    this.longestName = tokens.reduce((longest, { length }) => Math.max(longest, length), 1)
  }

  /** A token that controls the model and is not text: markers of turns, tools and ends. */
  isControl(token: number): boolean {
    const type = this.#types[token]
    return type === tokenTypes.control || type === tokenTypes.unknown
  }

  /** The name of a token as written in the vocabulary. */
  nameOf(token: number): string {
    return this.#texts[token] ?? ''
  }

  /** The names of all control tokens, longest first. */
  controlNames(): string[] {
    const names = this.#texts.filter((name, token) => this.isControl(token) && name.length > 1)
    return names.sort((one, other) => other.length - one.length)
  }

  bytesOf(token: number): Uint8Array {
    const known = this.#bytes.get(token)
    if (known !== undefined) return known
    const made = this.#makeBytes(token)
    this.#bytes.set(token, made)
    return made
  }

  #makeBytes(token: number): Uint8Array {
    const text = this.nameOf(token)
    const type = this.#types[token]
    if (this.isControl(token) || type === tokenTypes.userDefined) return encoder.encode(text)
    switch (this.#model.vocabularyType) {
      case LlamaVocabularyType.spm:
      case LlamaVocabularyType.ugm: {
        const hex = type === tokenTypes.byte ? /^<0x([0-9A-F]{2})>$/.exec(text)?.[1] : undefined
        if (hex !== undefined) return Uint8Array.of(Number.parseInt(hex, 16))
        return encoder.encode(text.replaceAll('\u2581', ' '))
      }
      case LlamaVocabularyType.bpe:
        return Uint8Array.from(
          [...text].flatMap((char) => {
            const byte = this.#byteOfChar.get(char)
            return byte === undefined ? [...encoder.encode(char)] : [byte]
          }),
        )
      default:
        return encoder.encode(this.#model.detokenize([token as never], true))
    }
  }
}

/** Turns tokens into text as they arrive; a character split between tokens waits for its rest. */
export class TextStream {
  readonly #text: TokenText
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  constructor(text: TokenText) {
    this.#text = text
  }

  push(token: number): string {
    return this.#decoder.decode(this.#text.bytesOf(token), { stream: true })
  }

  /** A character that stays incomplete becomes U+FFFD, only here, at the end. */
  end(): string {
    return this.#decoder.decode()
  }
}

const encoder = new TextEncoder()

/** Byte-pair vocabularies represent bytes as printable characters, in GPT-2's order. */
function byteAlphabet(): Map<string, number> {
  const printable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte !== 0xad)
  const alphabet = new Map<string, number>()
  let next = 0x100
  for (let byte = 0; byte < 0x100; byte++)
    alphabet.set(String.fromCodePoint(printable(byte) ? byte : next++), byte)
  return alphabet
}
