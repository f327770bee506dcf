/** A TCP relay that records what an observer of the wire sees: when how many bytes arrived, and which side closed. */

export type TappedConnection = {
  /** Bytes in both directions, in the order in which they were seen. */
  readonly seen: { readonly atMs: number; readonly bytes: number; readonly answer: boolean }[]
  /** Whether the last answer ended as HTTP says that a body of unknown length ends. */
  isEnded: boolean
  /** Set once one side has closed. */
  closed: { readonly atMs: number; readonly by: 'client' | 'server' } | undefined
}

export type WireTap = {
  readonly port: number
  readonly connections: readonly TappedConnection[]
  /** Bytes of answers over all connections. */
  answerBytes(): number
  /** Whether an answer of many packets has come to its end since the last call of `forget`. */
  hasLongAnswer(): boolean
  forget(): void
  stop(): void
}

const lastChunk = Buffer.from('0\r\n\r\n')

type Side = {
  readonly noted: TappedConnection
  readonly isAnswer: boolean
  peer: Bun.Socket<Side> | undefined
  waiting: Buffer[]
  isClosed: boolean
}

export function startWireTap(target: string): WireTap {
  const { hostname, port } = new URL(target)
  const connections: TappedConnection[] = []

  const counts = new WeakMap<object, number>()
  const forgotten = (seen: object) => counts.get(seen) ?? 0

  const flush = (socket: Bun.Socket<Side>) => {
    const { peer, waiting } = socket.data
    while (peer !== undefined && waiting.length > 0) {
      const [first] = waiting as [Buffer]
      const written = Math.max(0, peer.write(first))
      if (written < first.length) {
        waiting[0] = first.subarray(written)
        return
      }
      waiting.shift()
    }
    // What was sent before the end arrives, also where the other side takes its time.
    if (socket.data.isClosed) peer?.end()
  }
  const handlers = {
    data(socket: Bun.Socket<Side>, data: Buffer) {
      const { noted, isAnswer, waiting } = socket.data
      if (isAnswer) noted.isEnded = data.subarray(-5).equals(lastChunk)
      noted.seen.push({ atMs: performance.now(), bytes: data.length, answer: isAnswer })
      waiting.push(Buffer.from(data))
      flush(socket)
    },
    drain(socket: Bun.Socket<Side>) {
      if (socket.data.peer !== undefined) flush(socket.data.peer)
    },
    close(socket: Bun.Socket<Side>) {
      const { noted, isAnswer } = socket.data
      noted.closed ??= { atMs: performance.now(), by: isAnswer ? 'server' : 'client' }
      socket.data.isClosed = true
      flush(socket)
    },
  }
  const server = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      ...handlers,
      open(client) {
        const noted: TappedConnection = { seen: [], isEnded: false, closed: undefined }
        connections.push(noted)
        client.data = { noted, isAnswer: false, peer: undefined, waiting: [], isClosed: false }
        const data: Side = { noted, isAnswer: true, peer: client, waiting: [], isClosed: false }
        Bun.connect<Side>({
          ...{ hostname, port: Number(port), data },
          socket: {
            ...handlers,
            open(upstream) {
              client.data.peer = upstream
              flush(client)
            },
          },
        }).catch(() => client.end())
      },
    },
  })
  return {
    port: server.port,
    connections,
    answerBytes() {
      let bytes = 0
      for (const { seen } of connections) for (const one of seen) if (one.answer) bytes += one.bytes
      return bytes
    },
    hasLongAnswer: () =>
      connections.some(({ isEnded, seen }) => isEnded && seen.length - forgotten(seen) > 20),
    forget() {
      for (const { seen } of connections) counts.set(seen, seen.length)
    },
    stop: () => server.stop(true),
  }
}
