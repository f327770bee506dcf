/** The server over real sockets, driven byte by byte. */
import { afterEach, expect, test } from 'bun:test'
import { thrown } from '../../../test/rejection.ts'
import { type HttpServer, type HttpServerOptions, serveHttp } from './http-server.ts'
import { type PlainHandler, startPlainServer } from './testing/plain-server.ts'
import { rawClient } from './testing/raw-client.ts'

let server: HttpServer

afterEach(() => server.stop(0))

function start(
  handler: PlainHandler,
  changes: Partial<HttpServerOptions['limits']> = {},
): HttpServer {
  server = startPlainServer(handler, 100_000, changes)
  return server
}

const echo: PlainHandler = async (request) =>
  new Response(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`)

test('requests on one connection are answered in order, even when pipelined', async () => {
  start(async (request) => {
    if (request.url.endsWith('/slow')) await Bun.sleep(30)
    return echo(request)
  })
  const client = await rawClient(server.port)
  client.send('GET /slow HTTP/1.1\r\nhost: h\r\n\r\nGET /fast HTTP/1.1\r\nhost: h\r\n\r\n')
  const text = await client.until((seen) => seen.includes('/fast'))
  expect(text.indexOf('GET /slow')).toBeLessThan(text.indexOf('GET /fast'))
  client.close()
})

test('pipelined bodies in one piece of input are not freed with each other', async () => {
  start(async (request) => {
    const text = await request.text()
    return new Response(`${text.length} of ${[...new Set(text)].join('')}.`)
  })
  const client = await rawClient(server.port)
  const post = (letter: string) =>
    `POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 3000\r\n\r\n${letter.repeat(3000)}`
  client.send(post('a') + post('b') + post('c'))
  const text = await client.until((seen) => seen.includes('of c.'))
  expect(text.match(/3000 of .\./g)).toEqual(['3000 of a.', '3000 of b.', '3000 of c.'])
  client.close()
})

test('a request that arrives byte by byte is parsed the same', async () => {
  start(echo)
  const client = await rawClient(server.port)
  for (const byte of 'POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\nabc') {
    client.send(byte)
    await Bun.sleep(0)
  }
  expect(await client.until((seen) => seen.includes('abc'))).toContain('POST /x abc')
  client.close()
})

test('a chunked request is reassembled, and a malformed one refused', async () => {
  start(echo)
  const client = await rawClient(server.port)
  const head = 'POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n'
  client.send(`${head}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`)
  expect(await client.until((seen) => seen.includes('abcde'))).toContain('POST /x abcde')
  client.send(`${head}3\r\nabc\r\nzz\r\n`)
  expect(await client.rest()).toStartWith('HTTP/1.1 400')
})

test('bytes after a refused message are never parsed as a request', async () => {
  const seen: string[] = []
  start((request) => {
    seen.push(request.url)
    return new Response('yes')
  })
  const client = await rawClient(server.port)
  client.send(
    'POST /a HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n' +
      '0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: h\r\n\r\n',
  )
  expect(await client.rest()).toStartWith('HTTP/1.1 400')
  expect(seen).toEqual([])
})

test('invalid input after a request does not keep its answer from ending', async () => {
  const ended = Promise.withResolvers<unknown>()
  server = serveHttp({
    ...{ hostname: '127.0.0.1', port: 0, tls: undefined },
    limits: { connections: 20, idleSeconds: 60, headSeconds: 60, stallSeconds: 60 },
    begin(exchange) {
      // Later than the input is read, as an answer from elsewhere is.
      setImmediate(() => {
        exchange.begin('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n')
        try {
          exchange.finish()
          ended.resolve('finished')
        } catch (error) {
          ended.resolve(error)
        }
      })
    },
    refuse(exchange, { status }) {
      exchange.begin(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n`)
      exchange.finish()
    },
  })
  const client = await rawClient(server.port)
  client.send('POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\nabcGARBAGE\r\n\r\n')
  expect(await client.rest()).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 400 /s)
  expect(await ended.promise).toBe('finished')
})

test('a client that expects it gets 100 Continue', async () => {
  start(echo)
  const client = await rawClient(server.port)
  client.send('POST /x HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n')
  expect(await client.until((seen) => seen.endsWith('\r\n\r\n'))).toStartWith('HTTP/1.1 100')
  client.send('abc')
  expect(await client.until((seen) => seen.includes('abc'))).toContain('POST /x abc')
  client.close()
})

test('a body over the limit is refused before it is read, and the answer arrives', async () => {
  start(echo)
  const client = await rawClient(server.port)
  client.send('POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 5000000\r\n\r\n')
  client.send(new Uint8Array(5_000_000))
  const text = await client.rest()
  expect(text).toStartWith('HTTP/1.1 413')
  expect(text).toContain('connection: close')
})

test('HEAD has no body, and HTTP/1.0 gets its answer, then the connection closes', async () => {
  start(() => new Response('content'))
  const client = await rawClient(server.port)
  client.send('HEAD / HTTP/1.1\r\nhost: h\r\n\r\n')
  expect(await client.until((seen) => seen.endsWith('\r\n\r\n'))).not.toContain('content\r\n')
  client.send('GET / HTTP/1.0\r\n\r\n')
  expect(await client.rest()).toEndWith('\r\n\r\ncontent')
})

test('a long answer waits for a slow reader and arrives complete', async () => {
  let produced = 0
  const piece = new Uint8Array(64 * 1024).fill(120)
  start(
    () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            produced += piece.length
            if (produced > 40 * 1024 * 1024) controller.close()
            else controller.enqueue(piece)
          },
        }),
      ),
  )
  const client = await rawClient(server.port)
  client.pause()
  client.send('GET / HTTP/1.1\r\nhost: h\r\n\r\n')
  await Bun.sleep(200)
  // As much as the kernel's buffers accepted was produced, and not much more.
  expect(produced).toBeLessThan(20 * 1024 * 1024)
  client.resume()
  const text = await client.until((seen) => seen.endsWith('0\r\n\r\n'))
  expect(text.length).toBeGreaterThan(40 * 1024 * 1024 - 2 * piece.length)
  client.close()
})

test('a handler is notified when its client disconnects', async () => {
  const gone = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  start((request) => {
    request.signal.addEventListener('abort', () => gone.resolve())
    begun.resolve()
    return new Promise<Response>(() => undefined)
  })
  const client = await rawClient(server.port)
  client.send('GET / HTTP/1.1\r\nhost: h\r\n\r\n')
  await begun.promise
  client.close()
  await gone.promise
})

test('silent clients are disconnected before a head, and get an error within a head or body', async () => {
  start(echo, { idleSeconds: 1, headSeconds: 1, stallSeconds: 1 })
  const heads = ['', 'GET / HT', 'POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\nabc']
  const clients = await Promise.all(heads.map(() => rawClient(server.port)))
  for (const [index, client] of clients.entries()) client.send(heads[index]!)
  const answers = await Promise.all(clients.map((client) => client.rest()))
  expect(answers.map((text) => text.slice(0, 12))).toEqual(['', 'HTTP/1.1 408', 'HTTP/1.1 408'])
})

test('a stopping server finishes running requests and accepts no new ones', async () => {
  const begun = Promise.withResolvers<void>()
  const stopping = Promise.withResolvers<void>()
  start(async (request) => {
    begun.resolve()
    await stopping.promise
    return echo(request)
  })
  const client = await rawClient(server.port)
  client.send('GET /last HTTP/1.1\r\nhost: h\r\n\r\n')
  await begun.promise
  const stopped = server.stop(60_000)
  stopping.resolve()
  const text = await client.rest()
  expect(text).toContain('GET /last')
  expect(text).toContain('connection: close')
  expect(await stopped).toEqual({ cut: 0 })
  expect(await thrown(rawClient(server.port))).toThrow()
})
