/** Connections are reused after streams, even if the end of an answer comes after its last event. */
import { afterEach, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { until } from '../testing/until.ts'
import { defaultHttpSettings } from './http-settings.ts'
import { ServerStream } from './read-stream.ts'
import { ServerClient } from './server-client.ts'
import { createSocketFetch } from './socket-fetch.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const delta = { choices: [{ index: 0, delta: { content: 'a' } }] }
const lastEvents = { chat: 'data: [DONE]\n\n', messages: 'data: {"type":"message_stop"}\n\n' }

/** A server that sends one chunk and the last event, and then calls `afterLast`. */
function serve(afterLast: (socket: Socket<undefined>) => void) {
  const seen = { opened: 0, closed: 0 }
  const listener = Bun.listen<undefined>({
    ...{ hostname: '127.0.0.1', port: 0 },
    socket: {
      open: () => void seen.opened++,
      data(socket, bytes) {
        const last = bytes.includes('/v1/messages') ? lastEvents.messages : lastEvents.chat
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
        socket.write(chunk(`data: ${JSON.stringify(delta)}\n\n`) + chunk(last))
        afterLast(socket)
      },
      close: () => void seen.closed++,
    },
  })
  const sockets = createSocketFetch()
  closing.push(
    () => sockets.close(),
    () => listener.stop(true),
  )
  const settings = { ...defaultHttpSettings, baseUrl: `http://127.0.0.1:${listener.port}` }
  const client = new ServerClient(settings, sockets.fetch)
  const read = async (endpoint: 'chat' | 'messages' = 'chat') => {
    const call = { endpoint, body: { messages: [] }, signal: new AbortController().signal }
    const path = endpoint === 'chat' ? '/v1/chat/completions' : '/v1/messages'
    const request = await client.open(path, call.body, call.signal, 'read')
    const stream = new ServerStream(request, call, {
      ...{ isPerChoice: false, restMs: 1000, onFailure: async () => {}, onEnd: () => {} },
    })
    const chunks = await Array.fromAsync(stream)
    expect(chunks[0]).toEqual(delta)
    expect(client.active).toBe(0)
  }
  return { seen, read }
}

test.each(['chat', 'messages'] as const)('%s: the end comes later', async (endpoint) => {
  let ended = 0
  const { seen, read } = serve((socket) => {
    setTimeout(() => {
      socket.write('0\r\n\r\n')
      ended++
    }, 20)
  })
  for (let asked = 1; asked <= 3; asked++) {
    await read(endpoint)
    expect(ended).toBe(asked - 1) // a caller does not wait for it
    await until(() => ended === asked)
    await Bun.sleep(20)
  }
  expect(seen).toEqual({ opened: 1, closed: 0 })
})

test('a connection whose answer never ends is cut', async () => {
  const { seen, read } = serve(() => {})
  await read()
  expect(seen.closed).toBe(0)
  await until(() => seen.closed === 1)
})

test('a connection whose answer goes on and on is cut', async () => {
  let sent = 0
  const { seen, read } = serve((socket) => {
    const writing = setInterval(() => {
      if (seen.closed > 0) clearInterval(writing)
      else sent += socket.write(chunk(`: ${'x'.repeat(2_000)}\n\n`))
    }, 1)
  })
  await read()
  await until(() => seen.closed === 1)
  expect(sent).toBeLessThan(100_000)
})
