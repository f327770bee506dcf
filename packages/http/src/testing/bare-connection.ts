/** A client's connection without a network: what is done with its socket is written down. */
import { BodyRoom } from '../body-room.ts'
import { ClientConnection } from '../client-connection.ts'
import type { Exchange } from '../exchange.ts'
import { ReadingTurns } from '../reading-turns.ts'

type Handlers = {
  readonly begin: (exchange: Exchange) => void
  readonly refuse: (exchange: Exchange) => void
}

export function bareConnection(handlers: Handlers) {
  const done: string[] = []
  const socket = {
    ...{ pause: () => {}, resume: () => {}, shutdown: () => void done.push('told') },
    write: (bytes: Uint8Array, _from: number, length = bytes.length) => length,
    terminate: () => void done.push('cut'),
  }
  const limits = { idleSeconds: 60, headSeconds: 60, stallSeconds: 60 }
  const shared = { room: new BodyRoom(1000), turns: new ReadingTurns() }
  const place = { ...shared, ...handlers, limits, tick: 0, stopping: false }
  const connection = new ClientConnection(socket as never, place)
  return { connection, place, done }
}
