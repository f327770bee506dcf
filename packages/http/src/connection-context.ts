/** What the connections of one server share, and how long a client may take. */
import type { BodyMemory } from './body-memory.ts'
import type { HttpExchange } from './http-exchange.ts'
import type { MessageError } from './message-error.ts'
import type { ReadingTurns } from './reading-turns.ts'

/** Time is counted in ticks of one second, so that no request sets a timer. */
export type ConnectionContext = {
  readonly tick: number
  readonly stopping: boolean
  readonly limits: ConnectionLimits
  readonly bodyMemory: BodyMemory
  readonly turns: ReadingTurns
  readonly begin: (exchange: HttpExchange) => void
  readonly refuse: (exchange: HttpExchange, error: MessageError) => void
}

export type ConnectionLimits = {
  /** Between requests. */
  readonly idleSeconds: number
  /** From the first byte of a head, or of a TLS handshake, to its last. */
  readonly headSeconds: number
  /**
   * Without a byte of the body, or without the client taking a byte of the answer. A body that
   * comes slower than `slowBytesPerSecond` has no more than this in excess.
   */
  readonly stallSeconds: number
}
