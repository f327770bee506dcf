/** One answer as its reader sees it: status and headers first, then data, then the authenticated end. */
import type { AttestedWorker } from '@privatemode/attestation'
import { HeldEnding } from '@privatemode/protocol/api'
import {
  type AnswerHead,
  type AnswerOpener,
  type AnswerPart,
  type Bytes,
  EnvelopeError,
  joinBytes,
} from '@privatemode/protocol/envelope'
import { type ByteSource, lost, tooLarge } from './byte-source.ts'
import { finishParts, notAuthentic, openParts } from './sealed-exchange.ts'
import { unlessAborted } from './unless-aborted.ts'

/** What is known about an answer when its first byte arrives. */
export type AnswerFacts = {
  readonly requestId: string
  /** The model that the call was sealed for. */
  readonly model: string
  readonly opener: AnswerOpener
  /** The candidates the call was sealed to: one of them answers. */
  readonly workers: readonly AttestedWorker[]
  /** How many bytes of it may be buffered at once. */
  readonly maxBytes: number
  /** Hold the last events until the padding ends: an observer can see how an application reacts to them. */
  readonly holdsEnding?: boolean
  /** How long to wait for the end of the body after the reader has left; see `cancel`. */
  readonly lingerMs?: number
}

/** An opened answer. Every byte it returns is authenticated; a truncated answer throws. */
export class Answer {
  readonly head: AnswerHead
  readonly #facts: AnswerFacts
  readonly #source: ByteSource
  readonly #ending: HeldEnding | undefined
  #ready: AnswerPart[]
  #pulling: Promise<void> | undefined
  /** Whoever made the call, until there is nothing left to abort. */
  #caller: AbortSignal | undefined
  readonly #leave = () => void this.cancel()
  #readBytes = 0
  #receipt: Bytes | undefined
  #isWhole = false
  #done = false
  /** The reader has left; the remaining bytes are read and discarded. */
  #left = false
  #rest: Promise<void> | undefined

  private constructor(
    facts: AnswerFacts,
    source: ByteSource,
    head: AnswerHead,
    ready: AnswerPart[],
  ) {
    this.head = head
    this.#facts = facts
    this.#source = source
    this.#ending = facts.holdsEnding === true ? new HeldEnding() : undefined
    this.#ready = ready
  }

  /** Reads up to the sealed head. If an answer stops before it, nothing has been lost yet. */
  static async start(facts: AnswerFacts, source: ByteSource): Promise<Answer> {
    for (;;) {
      const chunk = await source.read()
      if (chunk === undefined) throw lost(undefined, 'the backend closed before its answer began')
      const [first, ...rest] = await open(facts.opener, source, chunk)
      if (first === undefined) continue
      if (first.kind !== 'head') throw notAuthentic(new EnvelopeError('malformed', 'no head'))
      return new Answer(facts, source, first.head, rest)
    }
  }

  get requestId(): string {
    return this.#facts.requestId
  }

  get model(): string {
    return this.#facts.model
  }

  /** The id of the worker that answered. */
  get workerId(): string | undefined {
    return this.#facts.opener.workerId
  }

  /** What was verified about that worker when the call was sealed. */
  get worker(): AttestedWorker | undefined {
    return this.#facts.workers.find(({ workerId }) => workerId === this.workerId)
  }

  /** Resolves when the transfer is over: padding and the receipt may follow a complete body. */
  async settled(): Promise<void> {
    await this.#rest
  }

  /** The signed receipt as JSON bytes, once the end has been reached. */
  get receipt(): Bytes | undefined {
    return this.#receipt
  }

  /** The next data, or `undefined` at the authenticated end; anything else throws. */
  async next(): Promise<Bytes[] | undefined> {
    for (;;) {
      this.#caller?.throwIfAborted()
      const data = this.#passable(this.#takeReady())
      if (data.length > 0) return data
      if (this.#isWhole) this.#rest ??= this.#readRest()
      if (this.#left) return undefined
      if (this.#done || this.#isWhole) {
        this.#unfollow()
        return this.#heldBack()
      }
      await unlessAborted(this.#pull(), this.#caller)
    }
  }

  #passable(data: Bytes[]): Bytes[] {
    const ending = this.#ending
    return ending === undefined ? data : data.flatMap((piece) => ending.push(piece) as Bytes[])
  }

  /** Returns the last events, once; they were held back until the end of the answer. */
  #heldBack(): Bytes[] | undefined {
    const rest = (this.#ending?.rest() ?? []) as Bytes[]
    return rest.length === 0 ? undefined : rest
  }

  /** Reads and opens the next bytes, once for all concurrent callers. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#pullOnce()
    return this.#pulling
  }

  async #pullOnce(): Promise<void> {
    try {
      const chunk = await this.#source.read()
      if (chunk === undefined) {
        finishParts(this.#facts.opener)
        this.#done = true
      } else {
        this.#ready.push(...(await open(this.#facts.opener, this.#source, chunk)))
        this.#readBytes += chunk.length
      }
    } catch (error) {
      this.#unfollow() // nothing is read after an error
      throw error
    } finally {
      this.#pulling = undefined
    }
  }

  /** Stops reading as soon as the caller aborts; the answer is then handled as in `cancel`. */
  follow(signal: AbortSignal): void {
    this.#caller = signal
    if (signal.aborted) this.#leave()
    else signal.addEventListener('abort', this.#leave)
  }

  #unfollow(): void {
    this.#caller?.removeEventListener('abort', this.#leave)
    if (!this.#caller?.aborted) this.#caller = undefined
  }

  /** Reads to the authenticated end and returns the body; throws if it exceeds `maxBytes`. */
  async whole(): Promise<Bytes> {
    let pieces: Bytes[] = []
    let length = 0
    for (;;) {
      const data = await this.next()
      if (data === undefined) return joinBytes(pieces)
      // A list of many short pieces takes far more memory than the bytes themselves.
      if (pieces.length > 1024 + length / 256) pieces = [joinBytes(pieces)]
      for (const piece of data) {
        length += piece.length
        pieces.push(piece)
      }
      if (length > this.#facts.maxBytes) {
        await this.cancel()
        throw tooLarge(this.#facts.maxBytes)
      }
    }
  }

  /**
   * Stops the generation: the gateway and the worker notice the closed connection. Once the body is
   * complete there is nothing to stop, and closing would reveal to an observer when that was.
   * Clients leave at the last event, shortly before they can know that the body is complete, so the
   * connection stays open a moment longer for the end to arrive.
   */
  async cancel(): Promise<void> {
    if (this.#isWhole) {
      this.#rest ??= this.#readRest()
      return
    }
    if (this.#done || this.#left) return
    this.#left = true
    this.#unfollow()
    const { lingerMs = 0 } = this.#facts
    if (lingerMs === 0) return await this.#source.cancel()
    this.#rest ??= this.#linger(lingerMs)
  }

  async #linger(lingerMs: number): Promise<void> {
    const timer = setTimeout(() => {
      if (!this.#isWhole) void this.#source.cancel()
    }, lingerMs)
    await this.#readRest()
    clearTimeout(timer)
  }

  /** A failure here loses only the receipt: the body was authentic and complete. */
  async #readRest(): Promise<void> {
    const mostBytes = this.#readBytes + maxPaddingBytes
    try {
      this.#takeReady()
      for (; !this.#done; this.#takeReady()) {
        await this.#pull()
        if (this.#readBytes > mostBytes) return await this.#source.cancel()
      }
    } catch {
      await this.#source.cancel()
    }
  }

  #takeReady(): Bytes[] {
    const data: Bytes[] = []
    for (const part of this.#ready) {
      switch (part.kind) {
        case 'data':
          data.push(part.bytes)
          break
        case 'whole':
          this.#isWhole = true
          break
        case 'end':
          this.#receipt = part.receipt
          break
        case 'head':
          break // records allow one head, which `start` consumed
      }
    }
    this.#ready = []
    return data
  }
}

/** Bounds the padding read from a backend that never stops sending it. */
const maxPaddingBytes = 64 * 1024 * 1024

async function open(opener: AnswerOpener, source: ByteSource, chunk: Bytes): Promise<AnswerPart[]> {
  try {
    const parts = await openParts(opener, chunk)
    source.reportOpened?.(opener.openedBytes)
    return parts
  } catch (error) {
    void source.cancel() // stop reading from a forger
    throw error
  }
}
