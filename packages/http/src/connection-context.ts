/** State shared by the connections of one server, and time limits for clients. */
import type { BodyMemory } from './body-memory.ts'
import type { HttpExchange } from './http-exchange.ts'
import type { MessageError } from './message-error.ts'
import type { ReadingTurns } from './reading-turns.ts'

/** Time is counted in one-second ticks, so that requests set no timers. */
export type ConnectionContext = {
  readonly tick: number
  readonly stopping: boolean
  readonly limits: ConnectionLimits
  readonly bodyMemory: BodyMemory
  readonly turns: ReadingTurns
  /** Connections without a request, the one that has been idle the longest first. */
  readonly idle: { add(connection: object): unknown; delete(connection: object): unknown }
  readonly begin: (exchange: HttpExchange) => void
  readonly refuse: (exchange: HttpExchange, error: MessageError) => void
}

export type ConnectionLimits = {
  /** Maximum idle time between requests. */
  readonly idleSeconds: number
  /** From the first byte of a head, or of a TLS handshake, to its last. */
  readonly headSeconds: number
  /**
   * Maximum time without a byte of the body, or without the client reading a byte of the answer. A
   * body slower than `slowBytesPerSecond` may exceed its time by no more than this.
   */
  readonly stallSeconds: number
}
