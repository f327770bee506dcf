/**
 * Holds back the end of an event stream. Clients disconnect or send the next request once they see
 * it, so passing it on early would show an observer when the answer was complete, whatever padding
 * follows.
 */
import { SseError } from './sse.ts'

/** What an event does: continues the answer, ends a part of it, or neither. */
type Meaning = 'content' | 'ending' | 'neutral'

/** An ending longer than this is passed on: holding it would cost more memory than it is worth. */
const maxHeldBytes = 16 * 1024 * 1024

/** Decides what is held: {@link fromFinishReason} or {@link lastEvent}. */
export type Held = (data: EventData) => Meaning

/**
 * Holds back events until more of the answer arrives or the stream ends.
 * The end of one part (a block, an item, one of several choices) is released by the part after it.
 */
export class HeldEnding {
  readonly #decoder = new TextDecoder()
  readonly #meaningOfData: Held
  #partial: Uint8Array[] = []
  #partialBytes = 0
  #held: Uint8Array[] = []
  #heldBytes = 0

  constructor(held: Held = fromFinishReason) {
    this.#meaningOfData = held
  }

  /** Returns what may be passed on now: complete events, byte for byte as received. */
  push(bytes: Uint8Array): Uint8Array[] {
    const released: Uint8Array[] = []
    let start = 0
    for (let end = this.#eventEnd(bytes, start); end > 0; end = this.#eventEnd(bytes, start)) {
      this.#take(this.#withPartial(bytes.subarray(start, end)), released)
      start = end
    }
    // A copy: the caller may reuse its buffer.
    if (start < bytes.length) this.#keepPartial(new Uint8Array(bytes.subarray(start)))
    if (this.#partialBytes > maxHeldBytes) {
      throw new SseError(`event is longer than ${maxHeldBytes} bytes`)
    }
    if (this.#heldBytes > maxHeldBytes) released.push(...this.#letGo())
    return released
  }

  /** Returns everything still held, once the stream is over. */
  rest(): Uint8Array[] {
    const rest = [...this.#letGo(), ...this.#partial]
    this.#partial = []
    this.#partialBytes = 0
    return rest
  }

  #letGo(): Uint8Array[] {
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    return held
  }

  /** The offset after the first empty line from `from` on; 0 if there is none. */
  #eventEnd(bytes: Uint8Array, from: number): number {
    const isAfterLine = this.#partial.at(-1)?.at(-1) === lineFeed
    if (from === 0 && isAfterLine && bytes[0] === lineFeed) return 1
    let at = bytes.indexOf(lineFeed, from)
    while (at >= 0 && bytes[at + 1] !== lineFeed) at = bytes.indexOf(lineFeed, at + 1)
    return at < 0 ? 0 : at + 2
  }

  #withPartial(tail: Uint8Array): Uint8Array {
    if (this.#partialBytes === 0) return tail
    const event = new Uint8Array(this.#partialBytes + tail.length)
    let at = 0
    for (const part of [...this.#partial, tail]) {
      event.set(part, at)
      at += part.length
    }
    this.#partial = []
    this.#partialBytes = 0
    return event
  }

  #keepPartial(part: Uint8Array): void {
    this.#partial.push(part)
    this.#partialBytes += part.length
  }

  #take(event: Uint8Array, released: Uint8Array[]): void {
    const meaning = this.#meaningOf(this.#decoder.decode(event))
    if (meaning === 'ending' || (meaning === 'neutral' && this.#heldBytes > 0)) {
      this.#held.push(new Uint8Array(event))
      this.#heldBytes += event.length
      return
    }
    if (meaning === 'content') released.push(...this.#letGo())
    released.push(event)
  }

  #meaningOf(event: string): Meaning {
    const data = /^data: ?(.*)$/m.exec(event)?.[1]
    if (data === undefined) return 'neutral' // a comment
    if (data === '[DONE]') return 'ending'
    try {
      return this.#meaningOfData(JSON.parse(data))
    } catch {
      return 'content'
    }
  }
}

const lineFeed = 0x0a

type EventData = {
  readonly choices?: unknown
  readonly type?: unknown
  readonly error?: unknown
}

/** Holds only the last event, at which clients disconnect; they do so at errors too. */
export function lastEvent(data: EventData): Meaning {
  const { type, error } = data
  if (error !== undefined && error !== null) return 'ending'
  if (typeof type === 'string' && lastTypes.has(type)) return 'ending'
  return type === 'ping' ? 'neutral' : 'content'
}

/**
 * Holds everything from the finish reason on. Chat and legacy completions have `choices`; messages
 * and responses name their events in `type`.
 */
export function fromFinishReason(data: EventData): Meaning {
  const { choices, type, error } = data
  if (error !== undefined && error !== null) return 'ending'
  if (Array.isArray(choices)) return choices.every(isFinished) ? 'ending' : 'content'
  if (typeof type !== 'string') return 'content'
  if (type === 'ping') return 'neutral'
  return endingTypes.has(type) || /^response\..*\.done$/.test(type) ? 'ending' : 'content'
}

const isFinished = (choice: { readonly finish_reason?: unknown } | null) =>
  typeof choice?.finish_reason === 'string'

const lastTypes = new Set([
  'message_stop',
  'error',
  'response.completed',
  'response.incomplete',
  'response.failed',
])
const endingTypes = new Set(['content_block_stop', 'message_delta', ...lastTypes])
