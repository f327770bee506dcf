/** What the connections of one server share, and how long a client may take. */
import type { BodyRoom } from './body-room.ts'
import type { Exchange } from './exchange.ts'
import type { MessageError } from './message-error.ts'
import type { ReadingTurns } from './reading-turns.ts'

/** Time is counted in ticks of one second, so that no request sets a timer. */
export type ConnectionPlace = {
  readonly tick: number
  readonly stopping: boolean
  readonly limits: ConnectionLimits
  readonly room: BodyRoom
  readonly turns: ReadingTurns
  readonly begin: (exchange: Exchange) => void
  readonly refuse: (exchange: Exchange, error: MessageError) => void
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
