/** The CPU time of round trips and transfers over loopback, with both ends in this process. */
import { releaseBytes } from '@privatemode/http'
import type { Socket } from 'bun'
import type { Effort } from './least-us.ts'

const bytes = Buffer.alloc(2048, 'x')

/** A request's size back and forth: two reads and two writes, as the proxy performs for one request. */
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

/** A long body once over loopback: all of it is written and read, as the proxy writes and reads it for one prompt. */
export async function socketTransferUs(
  body: Uint8Array,
  writtenBytes: number,
  { tries, calls }: Effort,
): Promise<number> {
  let left = 0
  let done: () => void = () => {}
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(_, given) {
        left -= given.length
        releaseBytes(given)
        if (left === 0) done()
      },
    },
  })
  let sent = 0
  const send = (socket: Socket<undefined>) => {
    while (sent < body.length) {
      const taken = socket.write(body, sent, Math.min(writtenBytes, body.length - sent))
      if (taken <= 0) return
      sent += taken
    }
  }
  const client: Socket<undefined> = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port,
    socket: { data() {}, drain: send },
  })
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round <= tries; round++) {
    const before = process.cpuUsage()
    for (let call = 0; call < calls; call++) {
      await new Promise<void>((resolve) => {
        ;[left, sent, done] = [body.length, 0, resolve]
        send(client)
      })
    }
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / calls)
  }
  client.end()
  server.stop(true)
  return least
}
