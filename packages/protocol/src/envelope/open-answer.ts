/** The client's side of an answer: frames in; head, data and receipt out, or a sticky error. */
import { decodeText, encodeText, equalBytes, joinBytes } from './byte-strings.ts'
import { andThen, type Bytes, type CryptoProvider, type Eventually } from './crypto-provider.ts'
import { EnvelopeError } from './envelope-error.ts'
import { FrameOpener, freeFrame, type OpenedFrame } from './frames.ts'
import { answerFrameKey, answerSaltLength } from './key-schedule.ts'
import { sealKeyIdLength } from './prelude.ts'
import { RecordReader } from './records.ts'

export type AnswerHead = {
  readonly status: number
  readonly headers: Readonly<{ [name: string]: string }>
}

export type AnswerPart =
  | { readonly kind: 'head'; readonly head: AnswerHead }
  | { readonly kind: 'data'; readonly bytes: Bytes }
  /** Authentic, and the body is complete; padding and the receipt may still follow. */
  | { readonly kind: 'whole' }
  /** The authenticated end. `receipt` is the worker's signed receipt as JSON bytes. */
  | { readonly kind: 'end'; readonly receipt: Bytes }

export const answerMagic = encodeText('PMA1')
const preludeLength = 4 + sealKeyIdLength + answerSaltLength

/**
 * Opens one answer. Errors are sticky. With an asynchronous provider, a push must settle before
 * the next one starts.
 */
export class AnswerOpener {
  readonly #provider: CryptoProvider
  readonly #requestKey: Bytes
  readonly #preludeDigest: Bytes
  readonly #candidates: readonly { readonly workerId: string; readonly sealKeyId: Bytes }[]
  readonly #reader = new RecordReader()
  #prelude: Bytes[] = []
  #preludeLength = 0
  #frames: FrameOpener | undefined
  #workerId: string | undefined
  #openedBytes = 0
  #failure: unknown

  constructor(
    provider: CryptoProvider,
    requestKey: Bytes,
    preludeDigest: Bytes,
    candidates: readonly { readonly workerId: string; readonly sealKeyId: Bytes }[],
  ) {
    this.#provider = provider
    this.#requestKey = requestKey
    this.#preludeDigest = preludeDigest
    this.#candidates = candidates
  }

  /** Which candidate answered, once the first frame is opened. */
  get workerId(): string | undefined {
    return this.#workerId
  }

  /**
   * Plaintext length of all frames so far, padding included: a relay can reproduce the answer's
   * shape from it.
   */
  get openedBytes(): number {
    return this.#openedBytes
  }

  /** Whether part of the pushed bytes is still held, in the buffer they arrived in. */
  get holdsBytes(): boolean {
    return this.#frames?.holdsBytes ?? this.#prelude.length > 0
  }

  push(chunk: Bytes): Eventually<AnswerPart[]> {
    if (this.#failure !== undefined) throw this.#failure
    try {
      const parts = this.#push(chunk)
      return parts instanceof Promise ? parts.catch((error) => this.#fail(error)) : parts
    } catch (error) {
      return this.#fail(error)
    }
  }

  /**
   * Throws unless the authenticated end was seen: a truncated answer is an error, never a short
   * answer.
   */
  finish(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#frames === undefined) {
      this.#fail(new EnvelopeError('truncated', 'the answer stopped before its first frame'))
    }
    this.#frames.finish()
  }

  #push(chunk: Bytes): Eventually<AnswerPart[]> {
    if (this.#frames !== undefined) return this.#open(this.#frames, chunk)
    this.#prelude.push(chunk)
    this.#preludeLength += chunk.length
    if (this.#preludeLength < preludeLength) return []
    const bytes = joinBytes(this.#prelude)
    this.#prelude = []
    return andThen(this.#start(bytes), (frames) => {
      this.#frames = frames
      return this.#open(frames, bytes.subarray(preludeLength))
    })
  }

  #start(bytes: Bytes): Eventually<FrameOpener> {
    if (!equalBytes(bytes.subarray(0, 4), answerMagic)) {
      throw new EnvelopeError('malformed', 'not a sealed answer of version 1')
    }
    const sealKeyId = bytes.subarray(4, 4 + sealKeyIdLength)
    const worker = this.#candidates.find((one) => equalBytes(one.sealKeyId, sealKeyId))
    if (worker === undefined) {
      throw new EnvelopeError('unknown_key', 'the answer names a worker that was not a candidate')
    }
    const salt = bytes.subarray(4 + sealKeyIdLength, preludeLength)
    const key = answerFrameKey(
      this.#provider,
      this.#requestKey,
      this.#preludeDigest,
      sealKeyId,
      salt,
    )
    this.#workerId = worker.workerId
    return andThen(key, (aead) => new FrameOpener(aead))
  }

  #open(frames: FrameOpener, chunk: Bytes): Eventually<AnswerPart[]> {
    return andThen(frames.push(chunk), (opened) => this.#read(opened))
  }

  #read(opened: readonly OpenedFrame[]): AnswerPart[] {
    const parts: AnswerPart[] = []
    for (const frame of opened) {
      this.#openedBytes += frame.plaintext.length
      let isNeeded = false
      for (const record of this.#reader.read(frame)) {
        switch (record.kind) {
          case 'head':
            parts.push({ kind: 'head', head: parseAnswerHead(record.bytes) })
            break
          case 'data':
            if (record.bytes.length === 0) parts.push({ kind: 'whole' })
            else {
              isNeeded = true
              parts.push({ kind: 'data', bytes: record.bytes })
            }
            break
          case 'end':
            isNeeded = true
            parts.push({ kind: 'end', receipt: record.bytes })
        }
      }
      if (!isNeeded) freeFrame(frame)
    }
    return parts
  }

  #fail(error: unknown): never {
    this.#failure = error
    throw error
  }
}

function parseAnswerHead(bytes: Bytes): AnswerHead {
  let head: unknown
  try {
    head = JSON.parse(decodeText(bytes))
  } catch (cause) {
    throw new EnvelopeError('malformed', 'the answer head is not JSON', { cause })
  }
  const { status, headers } = (head ?? {}) as { status?: unknown; headers?: unknown }
  const valid =
    Number.isInteger(status) &&
    (status as number) >= 200 &&
    (status as number) <= 599 &&
    typeof headers === 'object' &&
    headers !== null &&
    Object.values(headers).every((value) => typeof value === 'string')
  if (!valid) throw new EnvelopeError('malformed', 'the answer head lacks a status or headers')
  return head as AnswerHead
}
