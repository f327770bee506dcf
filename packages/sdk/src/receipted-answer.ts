/** An answer with its receipt: a stream is hashed as it is read, the rest happens on demand. */
import {
  AttestationError,
  type AttestedWorker,
  type Check,
  parseReceipt,
  type ReceiptClaims,
  type SignedReceipt,
  Transcript,
  verifyReceipt,
} from '@privatemode/attestation'
import { type AnswerHead, type Bytes, formatHex } from '@privatemode/protocol/envelope'
import type { Answer } from './answer.ts'
import { PrivatemodeError } from './privatemode-error.ts'
import type { Call } from './sealed-exchange.ts'
import { Sha256 } from './sha256.ts'

/** What the worker signed about one exchange, verified with the key bound by its evidence. */
export type Receipt = ReceiptClaims & {
  /** The signed form, for an evidence bundle. */
  readonly signed: SignedReceipt
  readonly checks: readonly Check[]
}

/** An answer whose receipt can be verified once it has been read to its end. */
export class ReceiptedAnswer {
  readonly #answer: Answer
  readonly #path: string
  readonly #requestDigest: () => Promise<string>
  #responseDigest: () => Promise<string>
  // WebCrypto can only hash whole messages, and a stream is not buffered just to be hashed at its
  // end.
  #streamHash: Sha256 | undefined
  readonly #ended: Promise<void>
  #end: () => void = () => {}
  #fail: (reason: PrivatemodeError) => void = () => {}
  #receipt: Promise<Receipt> | undefined

  constructor(answer: Answer, call: Pick<Call, 'path' | 'body'>) {
    this.#answer = answer
    this.#path = call.path
    this.#requestDigest = digestLater(call.body)
    this.#responseDigest = async () => formatHex((this.#streamHash ?? new Sha256()).digest())
    this.#ended = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    this.#ended.catch(() => {}) // callers of `receipt()` see the error; others need not
  }

  get requestId(): string {
    return this.#answer.requestId
  }

  get head(): AnswerHead {
    return this.#answer.head
  }

  async next(): Promise<Bytes[] | undefined> {
    try {
      const data = await this.#answer.next()
      if (data === undefined) this.#end()
      else this.#hash(data)
      return data
    } catch (error) {
      this.#fail(noReceipt('the answer did not come to its end', this.requestId))
      throw error
    }
  }

  #hash(pieces: readonly Bytes[]): void {
    this.#streamHash ??= new Sha256()
    for (const piece of pieces) this.#streamHash.update(piece)
  }

  async whole(): Promise<Bytes> {
    try {
      const body = await this.#answer.whole()
      this.#responseDigest = digestLater(body)
      this.#end()
      return body
    } catch (error) {
      this.#fail(noReceipt('the answer did not come to its end', this.requestId))
      throw error
    }
  }

  async cancel(): Promise<void> {
    this.#fail(noReceipt('the answer was not read to its end', this.requestId))
    await this.#answer.cancel()
  }

  /** Waits for the end of the answer, then verifies; throws if anything does not match. */
  receipt(): Promise<Receipt> {
    this.#receipt ??= this.#verify()
    return this.#receipt
  }

  async #verify(): Promise<Receipt> {
    await this.#ended
    await this.#answer.settled()
    const { worker, receipt: bytes } = this.#answer
    if (worker === undefined || bytes === undefined) {
      throw noReceipt('the answer has no receipt', this.requestId)
    }
    const transcript = new Transcript()
    try {
      const signed = transcript.attempt('receipt/form', () => parseReceipt(bytes))
      const claims = await verifyReceipt(signed, worker, transcript)
      await this.#requireThisExchange(claims, worker, transcript)
      return { ...claims, signed, checks: transcript.checks }
    } catch (cause) {
      if (!(cause instanceof AttestationError)) throw cause
      const { requestId } = this
      const facts = { retryable: false, requestId, refusal: cause.code, checks: cause.checks }
      throw new PrivatemodeError('receipt_invalid', cause.message, facts, { cause })
    }
  }

  async #requireThisExchange(
    claims: ReceiptClaims,
    worker: AttestedWorker,
    transcript: Transcript,
  ): Promise<void> {
    const expected = {
      requestId: this.requestId,
      path: this.#path,
      model: this.#answer.model,
      status: this.head.status,
      requestDigest: await this.#requestDigest(),
      responseDigest: await this.#responseDigest(),
      manifestDigest: worker.manifestDigest,
    }
    for (const [field, value] of Object.entries(expected)) {
      const seen = claims[field as keyof typeof expected]
      const detail = `${field} is ${seen}, expected ${value}`
      transcript.require(seen === value, `receipt/exchange-${field}`, 'receipt_invalid', detail)
    }
  }
}

/** Up to this size, bytes are kept and only hashed if the receipt is requested, which is rare. */
const maxKeptBytes = 64 * 1024

function digestLater(bytes: Bytes): () => Promise<string> {
  if (bytes.length <= maxKeptBytes) return () => digestOf(bytes)
  const digest = digestOf(bytes)
  return () => digest
}

async function digestOf(body: Bytes): Promise<string> {
  return formatHex(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))
}

const noReceipt = (message: string, requestId: string) =>
  new PrivatemodeError('receipt_missing', message, { retryable: false, requestId })
