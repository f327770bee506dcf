/** A transparent relay that records every byte in both directions: what the party behind it sees. */

export type Recording = { readonly url: string; bytes(): Buffer; stop(): void }

/** Relays TCP to `target` and records everything, as a tap on the wire would. */
export function startRecordingRelay(target: string): Recording {
  const { hostname, port } = new URL(target)
  const seen: Buffer[] = []
  type Side = { peer: Bun.Socket<Side> | undefined; waiting: Buffer[] }
  const forward = (socket: Bun.Socket<Side>, data: Buffer) => {
    const copy = Buffer.from(data)
    seen.push(copy)
    const { peer } = socket.data
    if (peer === undefined) socket.data.waiting.push(copy)
    else writeAll(peer, copy)
  }
  const backlog = new WeakMap<object, Buffer[]>()
  const writeAll = (socket: Bun.Socket<Side>, data: Buffer) => {
    const queue = backlog.get(socket)
    if (queue !== undefined && queue.length > 0) {
      queue.push(data)
      return
    }
    const written = socket.write(data)
    if (written < data.length) backlog.set(socket, [data.subarray(Math.max(0, written))])
  }
  const drain = (socket: Bun.Socket<Side>) => {
    const queue = backlog.get(socket) ?? []
    backlog.set(socket, [])
    for (const data of queue) writeAll(socket, data)
  }
  const close = (socket: Bun.Socket<Side>) => void socket.data.peer?.end()
  const server = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(client) {
        client.data = { peer: undefined, waiting: [] }
        void Bun.connect<Side>({
          hostname,
          port: Number(port),
          data: { peer: client, waiting: [] },
          socket: {
            open(upstream) {
              client.data.peer = upstream
              for (const data of client.data.waiting.splice(0)) writeAll(upstream, data)
            },
            data: forward,
            drain,
            close,
          },
        })
      },
      data: forward,
      drain,
      close,
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    bytes: () => Buffer.concat(seen),
    stop: () => server.stop(true),
  }
}
