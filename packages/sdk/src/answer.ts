/** One answer as its reader sees it: status and headers first, then data, then the checked end. */
import type { AttestedWorker } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import {
  type AnswerHead,
  type AnswerOpener,
  type AnswerPart,
  type Bytes,
  EnvelopeError,
  joinBytes,
} from '@privatemode/protocol/envelope'

/** A whole answer that is not streamed is held in memory up to this size. */
const maxWholeBytes = 256 * 1024 * 1024

export class Answer {
  readonly requestId: string
  readonly head: AnswerHead
  readonly #opener: AnswerOpener
  readonly #source: ByteSource
  readonly #candidates: readonly AttestedWorker[]
  #ready: AnswerPart[]
  #receipt: Bytes | undefined
  #done = false

  private constructor(
    requestId: string,
    head: AnswerHead,
    opener: AnswerOpener,
    source: ByteSource,
    candidates: readonly AttestedWorker[],
    ready: AnswerPart[],
  ) {
    this.requestId = requestId
    this.head = head
    this.#opener = opener
    this.#source = source
    this.#candidates = candidates
    this.#ready = ready
  }

  /** Reads up to the sealed head. An answer that stops before it has lost nothing yet. */
  static async start(
    requestId: string,
    opener: AnswerOpener,
    source: ByteSource,
    candidates: readonly AttestedWorker[] = [],
  ): Promise<Answer> {
    for (;;) {
      const chunk = await source.read()
      if (chunk === undefined) throw lost(undefined, 'the backend closed before its answer began')
      const parts = await open(opener, chunk)
      const [first, ...rest] = parts
      if (first === undefined) continue
      if (first.kind !== 'head') throw notAuthentic(new EnvelopeError('malformed', 'no head'))
      return new Answer(requestId, first.head, opener, source, candidates, rest)
    }
  }

  /** The worker that answered. */
  get workerId(): string | undefined {
    return this.#opener.workerId
  }

  /** What was verified about it when the call was sealed. */
  get worker(): AttestedWorker | undefined {
    return this.#candidates.find(({ workerId }) => workerId === this.workerId)
  }

  /** The signed receipt as JSON bytes, once the end was reached. */
  get receipt(): Bytes | undefined {
    return this.#receipt
  }

  /** The data that came next, or `undefined` at the authenticated end; anything else throws. */
  async next(): Promise<Bytes[] | undefined> {
    for (;;) {
      const data = this.#takeReady()
      if (data.length > 0) return data
      if (this.#done) return undefined
      const chunk = await this.#source.read()
      if (chunk === undefined) {
        finish(this.#opener)
        this.#done = true
        return undefined
      }
      this.#ready = await open(this.#opener, chunk)
    }
  }

  async whole(): Promise<Bytes> {
    const pieces: Bytes[] = []
    let length = 0
    for (;;) {
      const data = await this.next()
      if (data === undefined) return joinBytes(pieces)
      for (const piece of data) {
        length += piece.length
        pieces.push(piece)
      }
      if (length > maxWholeBytes) {
        await this.cancel()
        throw new ApiError('upstream_error', `the answer is longer than ${maxWholeBytes} bytes`)
      }
    }
  }

  /** Stops the generation: the gateway and the worker notice the closed connection. */
  async cancel(): Promise<void> {
    this.#done = true
    await this.#source.cancel()
  }

  #takeReady(): Bytes[] {
    const data: Bytes[] = []
    for (const part of this.#ready) {
      switch (part.kind) {
        case 'data':
          data.push(part.bytes)
          break
        case 'end':
          this.#receipt = part.receipt
          break
        case 'head':
          break // the record grammar allows one head, which `start` took
      }
    }
    this.#ready = []
    return data
  }
}

/** Bytes as they come from the network; `undefined` at their end. */
export interface ByteSource {
  read(): Promise<Bytes | undefined>
  cancel(): Promise<void>
}

export function streamSource(stream: ReadableStream<Bytes> | null): ByteSource {
  const reader = stream?.getReader()
  return {
    async read() {
      if (reader === undefined) return undefined
      try {
        const { done, value } = await reader.read()
        return done ? undefined : value
      } catch (cause) {
        throw lost(cause, 'the connection to the backend broke')
      }
    },
    async cancel() {
      await reader?.cancel().catch(() => {})
    },
  }
}

/** A body that is read whole in one go, which is cheaper where nothing is streamed. */
export function wholeSource(bytes: Bytes): ByteSource {
  let rest: Bytes | undefined = bytes
  return {
    async read() {
      const taken = rest
      rest = undefined
      return taken
    },
    async cancel() {},
  }
}

async function open(opener: AnswerOpener, chunk: Bytes): Promise<AnswerPart[]> {
  try {
    return await opener.push(chunk)
  } catch (cause) {
    throw notAuthentic(cause)
  }
}

function finish(opener: AnswerOpener): void {
  try {
    opener.finish()
  } catch (cause) {
    if (cause instanceof EnvelopeError && cause.code === 'truncated') {
      throw lost(cause, 'the answer stopped before its authenticated end')
    }
    throw notAuthentic(cause)
  }
}

const lost = (cause: unknown, message: string) =>
  new ApiError('worker_unreachable', message, { cause })

const notAuthentic = (cause: unknown) =>
  new ApiError(
    'response_not_authentic',
    `the answer was changed on its way: ${cause instanceof Error ? cause.message : 'unknown'}`,
    { cause },
  )
