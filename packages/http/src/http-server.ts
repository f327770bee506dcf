/**
 * An HTTP/1.1 server over plain sockets, for programs that mainly forward bytes.
 *
 * Bun.serve costs more per request, and has no limit on connections or on the time a head may take.
 */
import type { Socket, SocketHandler, TCPSocketListener } from 'bun'
import { Arrivals } from './arrivals.ts'
import { BodyMemory } from './body-memory.ts'
import { ClientConnection } from './client-connection.ts'
import { preferNewestListener, prepareQuieting } from './closing-listener.ts'
import type { ConnectionLimits } from './connection-context.ts'
import type { HttpExchange } from './http-exchange.ts'
import { explainListenError, ListenError } from './listen-error.ts'
import type { MessageError } from './message-error.ts'
import { probePort } from './probe-port.ts'
import { ReadingTurns } from './reading-turns.ts'

export type Tls = { readonly certPem: string; readonly keyPem: string }

export type HttpServerOptions = {
  readonly hostname: string
  /** 0 picks a free port. */
  readonly port: number
  readonly tls: Tls | undefined
  readonly limits: ConnectionLimits & {
    readonly connections: number
    /** Total for all bodies that are buffered whole. */
    readonly heldBodyBytes?: number
  }
  /** Other processes share the port; their starter made sure that no other program uses it. */
  readonly shared?: boolean
  /** Answers a request, immediately or later. */
  readonly begin: (exchange: HttpExchange) => void
  /** Answers a message that is not a valid request. */
  readonly refuse: (exchange: HttpExchange, error: MessageError) => void
}

export type HttpServer = {
  readonly port: number
  readonly url: string
  connections(): number
  /** Requests in progress. */
  busy(): number
  /** Uses this certificate for new connections; open ones are unaffected. */
  replaceTls(tls: Tls): Promise<void>
  /** Accepts no new requests, lets running ones end, and closes the rest after `graceMs`. */
  stop(graceMs: number): Promise<{ readonly cut: number }>
}

const tickMs = 1_000
const defaultHeldBodyBytes = 256 * 1024 * 1024
const stopPollMs = 20
/** Missing in the runtime's types. */
const sharedPort = { reusePort: true }
/** Within this time a listener has accepted its queue, and gets no new connections. */
const handoverMs = 250

type Listening = TCPSocketListener<ClientConnection>

export function serveHttp(options: HttpServerOptions): HttpServer {
  const connections = new Set<ClientConnection>()
  const arrivals = new Arrivals()
  const context = {
    tick: 0,
    stopping: false,
    limits: options.limits,
    bodyMemory: new BodyMemory(options.limits.heldBodyBytes ?? defaultHeldBodyBytes),
    turns: new ReadingTurns(),
    idle: new Set<ClientConnection>(),
    begin: options.begin,
    refuse: options.refuse,
  }
  const handlers: SocketHandler<ClientConnection> = {
    open(socket: Socket<ClientConnection>) {
      if (connections.size >= options.limits.connections && !makeWay(connections, context.idle)) {
        return void socket.terminate()
      }
      socket.data = new ClientConnection(socket, context)
      connections.add(socket.data)
      context.idle.add(socket.data)
    },
    data(socket: Socket<ClientConnection>, bytes: Buffer) {
      if (socket.data !== undefined) arrivals.add(socket.data, bytes)
    },
    drain: (socket: Socket<ClientConnection>) => socket.data?.drain(),
    close(socket: Socket<ClientConnection>) {
      if (socket.data === undefined) return
      arrivals.deliver()
      connections.delete(socket.data)
      socket.data.closed()
    },
    error: (socket: Socket<ClientConnection>) => void socket.terminate(),
  }
  let listener = openFirst(options, handlers)
  const { port } = listener
  let replacing = Promise.resolve()
  const sweeping = setInterval(() => {
    context.tick++
    for (const connection of connections) connection.sweep()
  }, tickMs)
  const busy = () => {
    let count = 0
    for (const connection of connections) if (connection.busy) count++
    return count
  }

  async function replace(tls: Tls): Promise<void> {
    const quietOld = options.shared === true ? prepareQuieting(port) : () => true
    const next = openListener(options.hostname, port, tls, handlers, true)
    const old = listener
    listener = next
    quietOld()
    await Bun.sleep(handoverMs)
    old.stop(false)
  }

  const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname
  return {
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    connections: () => connections.size,
    busy,
    replaceTls(tls) {
      if (options.tls === undefined) {
        return Promise.reject(new ListenError('certificate_unusable', 'not serving TLS'))
      }
      // One at a time: the kernel is configured to prefer the second of at most two listeners.
      const replaced = replacing.then(() => replace(tls))
      replacing = replaced.catch(() => {})
      return replaced
    },
    async stop(graceMs) {
      context.stopping = true
      listener.stop(false)
      const endMs = performance.now() + graceMs
      while (busy() > 0 && performance.now() < endMs) await Bun.sleep(stopPollMs)
      clearInterval(sweeping)
      const cut = busy()
      for (const connection of connections) connection.sweep()
      listener.stop(true)
      for (const connection of connections) connection.cut()
      return { cut }
    },
  }
}

/** Closes the connection that has been idle the longest, so that idle ones do not lock out new clients. */
function makeWay(connections: Set<ClientConnection>, idle: Set<ClientConnection>): boolean {
  for (const connection of idle) {
    idle.delete(connection)
    connections.delete(connection)
    connection.cut()
    return true
  }
  return false
}

/** A port is shared only between the listeners of one server, never with another program. */
function openFirst(
  { hostname, port, tls, shared = false }: HttpServerOptions,
  handlers: SocketHandler<ClientConnection>,
): Listening {
  if (shared) return openListener(hostname, port, tls, handlers, true)
  if (tls === undefined) return openListener(hostname, port, undefined, handlers, false)
  if (port !== 0) probePort(hostname, port)
  const listener = openListener(hostname, port, tls, handlers, true)
  preferNewestListener(listener.port)
  return listener
}

// For TLS 1.2: forward secrecy and authenticated encryption, no CBC with SHA-1. TLS 1.3 has no others.
const ciphers = ['ECDSA', 'RSA']
  .flatMap((key) =>
    ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map(
      (suite) => `ECDHE-${key}-${suite}`,
    ),
  )
  .join(':')

function openListener(
  hostname: string,
  port: number,
  tls: Tls | undefined,
  handlers: SocketHandler<ClientConnection>,
  shared: boolean,
): Listening {
  const address = { hostname, port, ...(shared ? sharedPort : { exclusive: true }) }
  try {
    if (tls === undefined) return Bun.listen<ClientConnection>({ ...address, socket: handlers })
    return Bun.listen<ClientConnection>({
      ...address,
      tls: { cert: tls.certPem, key: tls.keyPem, ciphers },
      // With this handler, a connection is open and counted before its handshake completes.
      socket: { ...handlers, handshake: () => undefined },
    })
  } catch (cause) {
    throw explainListenError(cause, hostname, port, tls !== undefined)
  }
}
