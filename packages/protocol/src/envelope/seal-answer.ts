/**
 * The worker's side of an answer: records sealed into frames of any size, ending with one last
 * frame.
 */
import { encodeText, joinBytes } from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { FrameSealer } from './frames.ts'
import { answerFrameKey, answerSaltLength } from './key-schedule.ts'
import { type AnswerHead, answerMagic } from './open-answer.ts'
import { recordHeader } from './records.ts'

export class AnswerSealer {
  readonly #frames: FrameSealer
  /** The clear-text start of the answer: magic, seal key id, salt. Sent before the first frame. */
  readonly prelude: Bytes

  private constructor(frames: FrameSealer, prelude: Bytes) {
    this.#frames = frames
    this.prelude = prelude
  }

  static start(
    provider: CryptoProvider,
    requestKey: Bytes,
    preludeDigest: Bytes,
    sealKeyId: Bytes,
  ): Eventually<AnswerSealer> {
    const salt = provider.random(answerSaltLength)
    const prelude = joinBytes([answerMagic, sealKeyId, salt])
    const key = answerFrameKey(provider, requestKey, preludeDigest, sealKeyId, salt)
    return andThen(key, (aead) => new AnswerSealer(new FrameSealer(aead), prelude))
  }

  /** Seals records (see `headRecord`, `dataRecord`, `endRecord`), zero-padded to `padTo`. */
  seal(records: readonly Bytes[], last: boolean, padTo = 0): Eventually<Bytes> {
    return andThen(this.#frames.seal(padded(records, padTo), last), joinBytes)
  }
}

/** One buffer that starts out as zeros: padding is never copied. */
function padded(records: readonly Bytes[], padTo: number): readonly Bytes[] {
  let length = 0
  for (const part of records) length += part.length
  if (length >= padTo) return records
  const plaintext = new Uint8Array(padTo)
  let offset = 0
  for (const part of records) {
    plaintext.set(part, offset)
    offset += part.length
  }
  return [plaintext]
}

export function headRecord(head: AnswerHead): Bytes[] {
  const bytes = encodeText(JSON.stringify(head))
  return [recordHeader('head', bytes.length), bytes]
}

export function dataRecord(bytes: Bytes): Bytes[] {
  return [recordHeader('data', bytes.length), bytes]
}

/** Marks the body as complete with an empty data record. Only padding and the end may follow. */
export const wholeRecord = (): Bytes[] => [recordHeader('data', 0)]

export function endRecord(receipt: Bytes): Bytes[] {
  return [recordHeader('end', receipt.length), receipt]
}
