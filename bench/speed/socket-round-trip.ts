/** What one round trip over loopback costs in processor time, both ends in this process. */
import type { Socket } from 'bun'

/** A stage is measured `tries` times, in loops of so many calls. */
export type Effort = { readonly tries: number; readonly calls: number }

const bytes = Buffer.alloc(2048, 'x')

/** A request's size to and fro: two reads and two writes, as the proxy has them for one request. */
export async function socketRoundTripUs({ tries, calls }: Effort): Promise<number> {
  let left = 0
  let done: () => void = () => {}
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket, given) => void socket.write(given) },
  })
  const client: Socket<undefined> = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port,
    socket: {
      data(socket) {
        if (--left <= 0) done()
        else socket.write(bytes)
      },
    },
  })
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round <= tries; round++) {
    left = calls
    const before = process.cpuUsage()
    await new Promise<void>((resolve) => {
      done = resolve
      client.write(bytes)
    })
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / calls)
  }
  client.end()
  server.stop(true)
  return least
}
