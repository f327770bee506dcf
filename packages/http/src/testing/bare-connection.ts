/** A client connection without a network that records what is done with its socket. */
import { BodyMemory } from '../body-memory.ts'
import { ClientConnection } from '../client-connection.ts'
import type { HttpExchange } from '../http-exchange.ts'
import { ReadingTurns } from '../reading-turns.ts'

type Handlers = {
  readonly begin: (exchange: HttpExchange) => void
  readonly refuse: (exchange: HttpExchange) => void
}

export function bareConnection(handlers: Handlers) {
  const done: string[] = []
  const socket = {
    ...{ pause: () => {}, resume: () => {}, shutdown: () => void done.push('told') },
    write: (bytes: Uint8Array, _from: number, length = bytes.length) => length,
    terminate: () => void done.push('cut'),
  }
  const limits = { idleSeconds: 60, headSeconds: 60, stallSeconds: 60 }
  const shared = {
    ...{ bodyMemory: new BodyMemory(1000), turns: new ReadingTurns() },
    idle: new Set<ClientConnection>(),
  }
  const context = { ...shared, ...handlers, limits, tick: 0, stopping: false }
  const connection = new ClientConnection(socket as never, context)
  return { connection, context, done }
}
