/** Holds request bodies so that another worker can be asked, within a budget for all of them. */
import { ApiError } from '@privatemode/protocol/api'
import { readBody } from '@privatemode/service'

/** A body that can be sent again, or one that goes through once. */
export type HeldBody =
  | {
      readonly kind: 'whole'
      readonly content: Uint8Array<ArrayBuffer>
      release(): void
    }
  | {
      readonly kind: 'stream'
      readonly content: ReadableStream<Uint8Array>
      readonly lengthBytes: number
      release(): void
    }

export type BodyLimits = {
  /** Largest body at all. */
  readonly maxBytes: number
  /** Larger ones are streamed, and not sent to a second worker. */
  readonly heldBytes: number
  /** All held bodies together; beyond it bodies are streamed. */
  readonly heldBytesTotal: number
}

export class BodyBudget {
  readonly #limits: BodyLimits
  #heldBytes = 0

  constructor(limits: BodyLimits) {
    this.#limits = limits
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  async read(request: Request, lengthBytes: number | undefined): Promise<HeldBody> {
    const { maxBytes, heldBytes, heldBytesTotal } = this.#limits
    if (lengthBytes !== undefined && !(lengthBytes <= maxBytes)) {
      throw new ApiError('request_too_large', `a sealed request has at most ${maxBytes} bytes`)
    }
    const reserved = lengthBytes ?? heldBytes
    const fits = reserved <= heldBytes && this.#heldBytes + reserved <= heldBytesTotal
    if (!fits) {
      if (lengthBytes === undefined) {
        throw new ApiError('overloaded', 'too many request bodies are under way', {
          retryAfterSeconds: 1,
        })
      }
      const content = request.body ?? new ReadableStream({ start: (c) => c.close() })
      return { kind: 'stream', content, lengthBytes, release: () => undefined }
    }
    this.#heldBytes += reserved
    let released = false
    const release = () => {
      if (!released) this.#heldBytes -= reserved
      released = true
    }
    try {
      const content = await readBody(request, reserved)
      return { kind: 'whole', content, release }
    } catch (error) {
      release()
      throw error
    }
  }
}
