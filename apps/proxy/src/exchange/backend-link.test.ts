import { expect, test } from 'bun:test'
import type { UpstreamConnection } from '@privatemode/http'
import { createOutbound } from '@privatemode/service'
import { openBackendLink } from './backend-link.ts'

const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
const emptyBody = { bytes: Buffer.alloc(0), start: 0, end: 0 }

function ask(connection: UpstreamConnection): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  connection.send(
    { head: 'GET / HTTP/1.1\r\nhost: backend\r\n\r\n', body: emptyBody, lengthBytes: 0 },
    { head: () => resolve(), data: () => {}, fail: reject },
    performance.now() + 10_000,
  )
  return promise
}

test('a thousand concurrent requests reuse the connections of the previous thousand', async () => {
  let opened = 0
  const backend = Bun.listen({
    ...{ hostname: '127.0.0.1', port: 0 },
    socket: {
      open: () => void opened++,
      data: (socket) => void socket.write(answer),
    },
  })
  const outbound = createOutbound({ env: {}, idleTimeoutMs: 10_000 })
  const link = openBackendLink(`http://127.0.0.1:${backend.port}`, outbound, {})
  for (let wave = 0; wave < 2; wave++) {
    const connections = await Promise.all(Array.from({ length: 1000 }, () => link.take()))
    await Promise.all(connections.map(ask))
  }
  expect(opened).toBe(1000)
  link.close()
  backend.stop(true)
})
