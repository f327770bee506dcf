/**
 * The worker's side of an answer: records sealed into frames of any size, ending with one last
 * frame.
 */
import { encodeText, joinBytes } from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { FrameSealer, maxFramePlaintext } from './frames.ts'
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
    return andThen(this.sealPieces(records, last, padTo), joinBytes)
  }

  /** Like `seal`: the pieces of the frame, for a writer that joins them anyway. */
  sealPieces(records: readonly Bytes[], last: boolean, padTo = 0): Eventually<readonly Bytes[]> {
    return this.#frames.seal(padded(records, padTo), last)
  }
}

/** Never written to. */
let zeros: Bytes | undefined

/** Followed by zeros that all answers share. */
function padded(records: readonly Bytes[], padTo: number): readonly Bytes[] {
  let length = 0
  for (const part of records) length += part.length
  if (length >= padTo) return records
  zeros ??= new Uint8Array(maxFramePlaintext)
  return [...records, zeros.subarray(0, padTo - length)]
}

export function headRecord(head: AnswerHead): Bytes[] {
  const bytes = encodeText(JSON.stringify(head))
  return [recordHeader('head', bytes.length), bytes]
}

export function dataRecord(...parts: readonly Bytes[]): Bytes[] {
  let length = 0
  for (const part of parts) length += part.length
  return [recordHeader('data', length), ...parts]
}

/** Marks the body as complete with an empty data record. Only padding and the end may follow. */
export const wholeRecord = (): Bytes[] => [recordHeader('data', 0)]

export function endRecord(receipt: Bytes): Bytes[] {
  return [recordHeader('end', receipt.length), receipt]
}
