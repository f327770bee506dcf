import { expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { thrown } from '../../../test/rejection.ts'
import { createOutbound } from './outbound.ts'

test('after one call timed out, idle connections from before are not reused', async () => {
  const sockets: Socket[] = []
  const silent = new Set<Socket>()
  let waiting: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', () => {
      if (silent.has(socket)) return
      // The first two are answered once both have arrived, so that each has its own connection.
      waiting.push(socket)
      if (silent.size === 0 && waiting.length < 2) return
      for (const each of waiting) each.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      waiting = []
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const outbound = createOutbound({ env: {} })
  const ask = (ms: number) =>
    outbound
      .fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(ms) })
      .then((response) => response.text())
  try {
    expect(await Promise.all([ask(5_000), ask(5_000)])).toEqual(['ok', 'ok'])
    for (const socket of sockets) silent.add(socket)
    expect(await thrown(ask(200))).toThrow()
    expect(await ask(5_000)).toBe('ok')
    expect(sockets).toHaveLength(3)
  } finally {
    outbound.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}, 240_000)
