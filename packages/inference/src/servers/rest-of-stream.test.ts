/**
 * An aborted stream is counted to its end: what is still unread, and what arrives until the server
 * notices.
 */
import { afterEach, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import type { EngineCall, EngineUsage, JsonObject } from '../engine.ts'
import { until } from '../testing/until.ts'
import { defaultHttpSettings } from './http-settings.ts'
import { ServerStream } from './read-stream.ts'
import { ServerClient, type ServerFetch } from './server-client.ts'
import { createSocketFetch } from './socket-fetch.ts'
import type { OpenCounts } from './stream-counts.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const counted = (completion_tokens: number): JsonObject => ({
  choices: [{ index: 0, delta: { content: 'a ' } }],
  usage: { prompt_tokens: 7, completion_tokens },
})
const said = (delta: string): JsonObject => ({ type: 'response.output_text.delta', delta })

function write(socket: Socket<undefined>, events: readonly JsonObject[]): void {
  const text = events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
  socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
}

/** A server that sends `first`, and calls `onEnd` when the client closes. */
function serve(first: readonly JsonObject[], onEnd: (socket: Socket<undefined>) => void) {
  const seen = { ended: 0, closed: 0 }
  const listener = Bun.listen<undefined>({
    ...{ hostname: '127.0.0.1', port: 0, allowHalfOpen: true },
    socket: {
      data(socket) {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
        write(socket, first)
      },
      end(socket) {
        seen.ended++
        onEnd(socket)
      },
      close: () => void seen.closed++,
    },
  })
  closing.push(() => listener.stop(true))
  return { seen, baseUrl: `http://127.0.0.1:${listener.port}` }
}

async function openStream(
  baseUrl: string,
  given: { endpoint?: EngineCall['endpoint']; restMs?: number; fetch?: ServerFetch } = {},
) {
  const sockets = createSocketFetch()
  closing.push(() => sockets.close())
  const client = new ServerClient({ ...defaultHttpSettings, baseUrl }, given.fetch ?? sockets.fetch)
  const aborter = new AbortController()
  const usage: EngineUsage[] = []
  const settled: Promise<void>[] = []
  const open: OpenCounts[] = []
  const call = {
    ...{ endpoint: given.endpoint ?? 'chat', body: { messages: [] }, signal: aborter.signal },
    onUsage: (told: EngineUsage) => void usage.push(told),
    onSettling: (counts: Promise<void>) => void settled.push(counts),
  } as const
  const request = await client.open('/v1/chat/completions', call.body, call.signal, 'read')
  const stream = new ServerStream(request, call, {
    ...{ isPerChoice: true, restMs: given.restMs ?? 30_000 },
    onFailure: async () => {},
    onEnd: () => {},
    settle: async (counts) => void open.push(counts),
  })
  const abort = async (reading?: Promise<unknown>) => {
    aborter.abort()
    const failure = await (reading ?? stream.next()).catch((error) => error)
    expect(failure).toMatchObject({ code: 'aborted' })
    expect(client.active).toBe(0)
    expect(settled).toHaveLength(1)
    await settled[0]
  }
  return { stream, usage, open, abort }
}

test('unread counts and late counts are billed', async () => {
  const { seen, baseUrl } = serve([counted(1), counted(2), counted(3)], (socket) => {
    write(socket, [counted(4)])
    write(socket, [counted(5), counted(6)])
    socket.end()
  })
  const { stream, usage, abort } = await openStream(baseUrl)
  await stream.next()
  expect(usage.at(-1)?.completionTokens).toBe(1)
  await abort()
  expect(usage.at(-1)).toMatchObject({ promptTokens: 7, completionTokens: 6 })
  await until(() => seen.closed === 1)
})

test('late text of a stream without counts is counted with the rest', async () => {
  const { baseUrl } = serve([said('one '), said('two ')], (socket) => {
    write(socket, [said('three')])
    socket.end()
  })
  const { stream, open, abort } = await openStream(baseUrl, { endpoint: 'responses' })
  await stream.next()
  await abort()
  expect(open).toMatchObject([{ pieces: 3, text: 'one two three' }])
})

test('a server that continues is cut off, and what it sent until then is billed', async () => {
  const { seen, baseUrl } = serve([counted(1)], (socket) => write(socket, [counted(2)]))
  const { stream, usage, abort } = await openStream(baseUrl, { restMs: 300 })
  await stream.next()
  await abort(stream.next())
  expect(usage.at(-1)?.completionTokens).toBe(2)
  expect(seen.ended).toBe(1)
  await until(() => seen.closed === 1)
})

test('bytes that are not events neither complete nor fail the stream', async () => {
  const { baseUrl } = serve([counted(1)], (socket) => {
    socket.write('5\r\ndata:\r\n')
    socket.write('not http')
  })
  const { stream, usage, abort } = await openStream(baseUrl)
  await stream.next()
  await abort()
  expect(usage.at(-1)?.completionTokens).toBe(1)
})

test('a connection that can only be cut is cut, and unread data is billed', async () => {
  const { seen, baseUrl } = serve([counted(1), counted(2)], () => {})
  const { stream, usage, abort } = await openStream(baseUrl, {
    fetch: (url, asked) => fetch(url, asked),
  })
  await stream.next()
  await abort()
  expect(usage.at(-1)?.completionTokens).toBe(2)
  await until(() => seen.ended + seen.closed > 0)
})
