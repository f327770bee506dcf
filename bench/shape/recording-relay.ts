/** A relay between proxy and gateway that notes when how many bytes pass, and in which frames. */
import { ConnectionRecorder, type SeenExchange } from './record-exchange.ts'

export type RecordingRelay = { readonly url: string; stop(): void }

type Side = {
  peer: Bun.Socket<Side> | undefined
  readonly waiting: Buffer[]
  readonly note: (bytes: Buffer) => void
  readonly close: () => void
}

/** Relays TCP to `target`; `onExchange` gets every sealed exchange when it is over. */
export function startRecordingRelay(
  target: string,
  onExchange: (exchange: SeenExchange) => void,
): RecordingRelay {
  const { hostname, port } = new URL(target)
  const handlers = {
    data(socket: Bun.Socket<Side>, data: Buffer) {
      const copy = Buffer.from(data)
      socket.data.note(copy)
      const { peer } = socket.data
      if (peer === undefined) socket.data.waiting.push(copy)
      else write(peer, copy)
    },
    drain(socket: Bun.Socket<Side>) {
      const queue = socket.data.waiting.splice(0)
      for (const data of queue) write(socket, data)
    },
    close(socket: Bun.Socket<Side>) {
      socket.data.close()
      socket.data.peer?.end()
    },
  }
  const server = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      ...handlers,
      open(client) {
        client.setNoDelay(true)
        const recorder = new ConnectionRecorder(onExchange)
        const close = () => recorder.close(performance.now())
        const up = (bytes: Buffer) => recorder.up(bytes, performance.now())
        const down = (bytes: Buffer) => recorder.down(bytes, performance.now())
        client.data = { peer: undefined, waiting: [], note: up, close }
        void Bun.connect<Side>({
          hostname,
          port: Number(port),
          data: { peer: client, waiting: [], note: down, close },
          socket: {
            ...handlers,
            open(upstream) {
              upstream.setNoDelay(true)
              const early = client.data.waiting.splice(0)
              client.data.peer = upstream
              for (const data of early) write(upstream, data)
            },
          },
        })
      },
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

/** What a socket does not take now waits for `drain`, in order. */
function write(socket: Bun.Socket<Side>, data: Buffer): void {
  if (socket.data.waiting.length > 0) {
    socket.data.waiting.push(data)
    return
  }
  const written = socket.write(data)
  if (written < data.length) socket.data.waiting.push(data.subarray(Math.max(0, written)))
}
