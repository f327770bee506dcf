/** Clients that use more than their share of connections, memory or time. */
import { afterEach, expect, spyOn, test } from 'bun:test'
import { thrown } from '../../../test/rejection.ts'
import { BodyMemory } from './body-memory.ts'
import type { HttpExchange } from './http-exchange.ts'
import type { HttpServer, HttpServerOptions } from './http-server.ts'
import { RequestBody } from './request-body.ts'
import { bareConnection } from './testing/bare-connection.ts'
import { type PlainHandler, startPlainServer } from './testing/plain-server.ts'
import { rawClient } from './testing/raw-client.ts'

let server: HttpServer

afterEach(() => server?.stop(0))

function start(
  handler: PlainHandler,
  changes: Partial<HttpServerOptions['limits']> = {},
): HttpServer {
  server = startPlainServer(handler, 1_000_000, changes)
  return server
}

const get = 'GET / HTTP/1.1\r\nhost: h\r\n\r\n'
const post = (length: number) => `POST / HTTP/1.1\r\nhost: h\r\ncontent-length: ${length}\r\n\r\n`

test('at the connection limit, the oldest idle connection is closed', async () => {
  start(() => new Response('yes'), { connections: 2 })
  const oldest = await rawClient(server.port)
  const second = await rawClient(server.port)
  const third = await rawClient(server.port)
  expect(await oldest.rest()).toBe('')
  for (const client of [second, third]) {
    client.send(get)
    expect(await client.until((text) => text.endsWith('yes'))).toContain('200')
  }
  expect(server.connections()).toBe(2)
})

test('a connection with a request in progress is never closed to free a slot', async () => {
  const waiting: ((response: Response) => void)[] = []
  start(() => new Promise((resolve) => waiting.push(resolve)), { connections: 2 })
  const clients = [await rawClient(server.port), await rawClient(server.port)]
  for (const client of clients) client.send(get)
  while (waiting.length < 2) await Bun.sleep(1)
  const third = await rawClient(server.port)
  expect(await third.rest()).toBe('')
  for (const answer of waiting) answer(new Response('yes'))
  for (const client of clients) {
    expect(await client.until((text) => text.endsWith('yes'))).toContain('200')
  }
})

test('an idle connection makes way, however many older ones are busy', async () => {
  const waiting: ((response: Response) => void)[] = []
  start(() => new Promise((resolve) => waiting.push(resolve)), { connections: 101 })
  const busy = await Promise.all(Array.from({ length: 100 }, () => rawClient(server.port)))
  for (const client of busy) client.send(get)
  while (waiting.length < 100) await Bun.sleep(1)
  const idle = await rawClient(server.port)
  const newcomer = await rawClient(server.port)
  expect(await idle.rest()).toBe('')
  newcomer.send(get)
  while (waiting.length < 101) await Bun.sleep(1)
  for (const answer of waiting) answer(new Response('yes'))
  for (const client of [...busy, newcomer]) {
    expect(await client.until((text) => text.endsWith('yes'))).toContain('200')
  }
})

test('the connection idle for the longest makes way first, and one after its answer is idle', async () => {
  start(() => new Response('yes'), { connections: 2 })
  const [first, second] = [await rawClient(server.port), await rawClient(server.port)]
  // Connected before the second one, but used after it.
  first.send(get)
  await first.until((text) => text.endsWith('yes'))
  await rawClient(server.port)
  expect(await second.rest()).toBe('')
  first.send(get)
  expect(await first.until((text) => text.endsWith('yes'))).toContain('200')
  await rawClient(server.port)
  await rawClient(server.port)
  expect(await first.rest()).toBe('')
})

test('a body that trickles in byte by byte is aborted, whatever its length', async () => {
  start(() => new Response('yes'), { stallSeconds: 1 })
  const client = await rawClient(server.port)
  client.send(post(900_000))
  const drip = setInterval(() => client.send('x'), 200)
  expect(await client.until((text) => text.includes('\r\n'))).toStartWith('HTTP/1.1 408')
  clearInterval(drip)
  client.close()
})

test('a client that sends but never reads is disconnected', async () => {
  const piece = new Uint8Array(4 * 1024 * 1024)
  let isOver = false
  const body = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(piece),
      cancel: () => {
        isOver = true
      },
    })
  start(() => new Response(body()), { stallSeconds: 1 })
  const client = await rawClient(server.port)
  client.pause()
  client.send(get)
  const drip = setInterval(() => client.send('G'), 200)
  while (!isOver) await Bun.sleep(50)
  clearInterval(drip)
  client.resume()
  client.close()
})

test('many long bodies take turns, all arrive complete, and small requests proceed', async () => {
  const sum = (text: string) => text.length * 31 + text.charCodeAt(0) + text.charCodeAt(999_999)
  start(async (request) => {
    const text = await request.text()
    return new Response(text === '' ? 'small' : `sum ${sum(text)}.`)
  })
  const bodies = Array.from({ length: 12 }, (_, index) => String(index % 10).repeat(1_000_000))
  const answers = bodies.map(async (body) => {
    const client = await rawClient(server.port)
    client.send(post(body.length) + body)
    return client.until((text) => text.endsWith('.'))
  })
  const small = await rawClient(server.port)
  small.send(get)
  expect(await small.until((text) => text.endsWith('small'))).toContain('200')
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    expect(answer).toContain(`sum ${sum(bodies[index]!)}.`)
  }
})

test('a client that keeps sending after a refusal is disconnected', () => {
  const refuse = (exchange: HttpExchange) => {
    const body = Buffer.from('no')
    exchange.begin('HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n', {
      bytes: body,
      start: 0,
      end: 2,
    })
    exchange.finish()
  }
  const { connection, context, done } = bareConnection({ begin: refuse, refuse })
  connection.data(Buffer.from('no request\r\n\r\nmore'))
  expect(done).toEqual(['told'])
  for (let second = 0; second < 12; second++) {
    connection.data(Buffer.alloc(100_000))
    context.tick++
    connection.sweep()
  }
  expect(done[1]).toBe('cut')
  connection.closed()
})

test('what arrived together with the end of its connection begins nothing', () => {
  let begun = 0
  const begin = () => void begun++
  const { connection } = bareConnection({ begin, refuse: begin })
  connection.closed()
  connection.data(Buffer.from('GET / HTTP/1.1\r\nhost: h\r\n\r\n'))
  expect(begun).toBe(0)
})

test('when bodies fill the memory, the largest one still arriving is refused', async () => {
  start(async (request) => new Response(`${(await request.text()).length} bytes`), {
    heldBodyBytes: 500_000,
  })
  const taking = spyOn(BodyMemory.prototype, 'take')
  const taken = () => taking.mock.calls.reduce((sum, [, bytes]) => sum + bytes, 0)
  const large = await rawClient(server.port)
  large.send(post(450_000))
  large.send('x'.repeat(400_000))
  const small = await rawClient(server.port)
  while (taken() < 400_000) await Bun.sleep(1)
  taking.mockRestore()
  small.send(post(200_000) + 'y'.repeat(200_000))
  expect(await small.until((text) => text.includes('bytes'))).toContain('200000 bytes')
  expect(await large.until((text) => text.includes('\r\n'))).toStartWith('HTTP/1.1 503')
  large.close()
  // The refused body has released its memory: the same request is accepted again.
  const again = await rawClient(server.port)
  again.send(post(450_000) + 'x'.repeat(450_000))
  expect(await again.until((text) => text.includes('bytes'))).toContain('450000 bytes')
})

test('what a body takes once it is decoded counts, and is refused if there is no room', () => {
  const memory = new BodyMemory(1000)
  const bodyOf = () => new RequestBody(0, () => {}, memory)
  const first = bodyOf()
  first.reserve(800)
  expect(memory.heldBytes).toBe(800)
  const second = bodyOf()
  expect(() => second.reserve(300)).toThrow('too many large requests at once')
  expect(memory.heldBytes).toBe(800)
  first.release()
  expect(memory.heldBytes).toBe(0)
  bodyOf().reserve(300)
  expect(memory.heldBytes).toBe(300)
})

test('every body releases its memory, however it ends', async () => {
  const memory = new BodyMemory(1000)
  const bytes = Buffer.alloc(100)
  const ended = new RequestBody(100, () => {}, memory)
  const whole = ended.whole(100)
  ended.feed(bytes, 0)
  await whole
  expect(memory.heldBytes).toBe(100)
  ended.release()
  const failed = new RequestBody(200, () => {}, memory)
  const failing = Promise.resolve(failed.whole(200))
  failed.feed(bytes, 0)
  failed.fail(new Error('gone'))
  expect(await thrown(failing)).toThrow('gone')
  const discarded = new RequestBody(200, () => {}, memory)
  void Promise.resolve(discarded.whole(200))
  discarded.feed(bytes, 0)
  discarded.discard()
  expect(memory.heldBytes).toBe(0)
})
