/** Parses requests from bytes as our server does, split at any offsets. */
import { BodyMemory } from '../../body-memory.ts'
import { ClientConnection } from '../../client-connection.ts'
import type { HttpExchange } from '../../http-exchange.ts'
import { ReadingTurns } from '../../reading-turns.ts'

export type ReadRequest = {
  readonly method: string
  readonly target: string
  readonly fields: readonly (readonly [string, string])[]
  /** Latin-1. */
  readonly body: string
}

const bodyMemoryBytes = 1024 * 1024

/** The complete requests, in order; parsing ends with the first one refused. */
export function readRequests(bytes: Uint8Array, cuts: readonly number[] = []): ReadRequest[] {
  const requests: ReadRequest[] = []
  let open = true
  const take = (exchange: HttpExchange) => {
    const parts: Buffer[] = []
    exchange.body.stream({
      data: (part) => parts.push(Buffer.from(part)) > 0,
      end() {
        const { method, target, fields } = exchange.head
        const body = Buffer.concat(parts).toString('latin1')
        requests.push({ method, target, fields: [...fields], body })
        exchange.begin('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n')
        exchange.finish()
      },
    })
  }
  const close = () => {
    open = false
  }
  const socket = {
    remoteAddress: '127.0.0.1',
    write: (data: Uint8Array, _offset?: number, length?: number) => length ?? data.length,
    pause: () => undefined,
    resume: () => undefined,
    end: close,
    shutdown: close,
    terminate: close,
  }
  const connection = new ClientConnection(socket as never, {
    tick: 0,
    stopping: false,
    limits: { idleSeconds: 1, headSeconds: 1, stallSeconds: 1 },
    bodyMemory: new BodyMemory(bodyMemoryBytes),
    turns: new ReadingTurns(),
    idle: new Set(),
    begin: take,
    refuse: close,
  })
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    // A copy: the connection takes ownership of its input.
    if (open && to > from) connection.data(Buffer.from(bytes.subarray(from, to)))
    from = to
  }
  return requests
}
