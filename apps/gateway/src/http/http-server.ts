/**
 * An HTTP/1.1 server over plain sockets, for a program whose work is to pass bytes on.
 *
 * Why not Bun.serve: see docs/decisions/gateway-sockets.md.
 */

import { ServiceError, type Tls } from '@privatemode/service'
import type { Socket } from 'bun'
import { ClientConnection, type ConnectionLimits } from './client-connection.ts'
import type { Exchange } from './exchange.ts'
import type { MessageError } from './message-error.ts'

export type HttpServerOptions = {
  readonly hostname: string
  /** 0 takes a free port. */
  readonly port: number
  readonly tls: Tls | undefined
  readonly limits: ConnectionLimits & { readonly connections: number }
  /** Answers a request, now or later. */
  readonly begin: (exchange: Exchange) => void
  /** Answers what is no request. */
  readonly refuse: (exchange: Exchange, error: MessageError) => void
}

export type HttpServer = {
  readonly port: number
  readonly url: string
  connections(): number
  /** Takes no new requests, lets running ones end, cuts what is left after `graceMs`. */
  stop(graceMs: number): Promise<{ readonly cut: number }>
}

const tickMs = 1_000
const stopPollMs = 20

export function serveHttp(options: HttpServerOptions): HttpServer {
  const connections = new Set<ClientConnection>()
  const place = {
    tick: 0,
    stopping: false,
    limits: options.limits,
    begin: options.begin,
    refuse: options.refuse,
  }
  const listener = openListener(options, {
    open(socket: Socket<ClientConnection>) {
      if (connections.size >= options.limits.connections) return void socket.terminate()
      socket.data = new ClientConnection(socket, place)
      connections.add(socket.data)
    },
    data: (socket: Socket<ClientConnection>, bytes: Buffer) => socket.data?.data(bytes),
    drain: (socket: Socket<ClientConnection>) => socket.data?.drain(),
    close(socket: Socket<ClientConnection>) {
      if (socket.data === undefined) return
      connections.delete(socket.data)
      socket.data.closed()
    },
    error: (socket: Socket<ClientConnection>) => void socket.terminate(),
  })
  const sweeping = setInterval(() => {
    place.tick++
    for (const connection of connections) connection.sweep()
  }, tickMs)
  const host = options.hostname.includes(':') ? `[${options.hostname}]` : options.hostname
  return {
    port: listener.port,
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${listener.port}`,
    connections: () => connections.size,
    async stop(graceMs) {
      place.stopping = true
      listener.stop(false)
      const endMs = performance.now() + graceMs
      const busy = () => [...connections].filter((connection) => connection.busy).length
      while (busy() > 0 && performance.now() < endMs) await Bun.sleep(stopPollMs)
      clearInterval(sweeping)
      const cut = busy()
      for (const connection of connections) connection.sweep()
      listener.stop(true)
      return { cut }
    },
  }
}

type Listening = { readonly port: number; stop(closeConnections: boolean): void }
type Handlers = Bun.SocketHandler<ClientConnection>

function openListener(options: HttpServerOptions, socket: Handlers): Listening {
  const { hostname, port, tls } = options
  try {
    return Bun.listen<ClientConnection>({
      hostname,
      port,
      exclusive: true,
      ...(tls === undefined ? {} : { tls: { cert: tls.certPem, key: tls.keyPem } }),
      // With this handler a connection is open, and counted, before its handshake is done.
      socket: tls === undefined ? socket : { ...socket, handshake: () => undefined },
    })
  } catch (cause) {
    throw new ServiceError(
      (cause as { code?: unknown }).code === 'EADDRINUSE' ? 'port_busy' : 'address_unavailable',
      `cannot listen on ${hostname}:${port}; another program may use the port, choose another one`,
      { cause },
    )
  }
}
