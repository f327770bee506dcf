import { expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { listen } from './listener.ts'
import { readBody } from './read-body.ts'
import { newRequestId } from './request-id.ts'
import { ServiceError } from './service-error.ts'

const hostname = '127.0.0.1'

test('a busy port is reported in one sentence with the remedy', async () => {
  const handler = () => new Response('ok')
  const first = listen({ hostname, port: 0, handler })
  try {
    expect(() => listen({ hostname, port: first.port, handler })).toThrow(
      `port ${first.port} on 127.0.0.1 is in use; stop the other program or choose another port`,
    )
  } finally {
    await first.stop()
  }
})

test('an address this machine does not have is refused with the remedy', () => {
  const handler = () => new Response('ok')
  expect(() => listen({ hostname: '192.0.2.1', port: 0, handler })).toThrow(
    expect.objectContaining({ code: 'address_unavailable' }),
  )
})

test('stop lets a running request end and refuses new connections', async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const server = listen({
    hostname,
    port: 0,
    handler: async () => {
      entered.resolve()
      await release
      return new Response('done')
    },
  })
  const answer = fetch(server.url)
  await entered.promise
  const stopping = server.stop({ graceMs: 5000 })
  expect(await rejection(fetch(server.url))).toMatchObject({ code: 'ECONNREFUSED' })
  resolve()
  expect(await (await answer).text()).toBe('done')
  expect(await stopping).toEqual({ cut: 0 })
})

test('stop aborts requests that do not end in time and returns how many', async () => {
  const entered = Promise.withResolvers<void>()
  const server = listen({
    hostname,
    port: 0,
    handler: () => {
      entered.resolve()
      return new Promise<Response>(() => {})
    },
  })
  const answer = fetch(server.url).catch((error: unknown) => error)
  await entered.promise
  expect(await server.stop({ graceMs: 20 })).toEqual({ cut: 1 })
  expect(await answer).toBeInstanceOf(Error)
})

test('requests above the concurrency limit are asked to retry', async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>()
  const server = listen({
    hostname,
    port: 0,
    limits: { requests: 1 },
    handler: async () => {
      await release
      return new Response('done')
    },
  })
  const first = fetch(server.url)
  while (server.pendingRequests() < 1) await Bun.sleep(1)
  const second = await fetch(server.url)
  expect(second.status).toBe(503)
  expect(second.headers.get('retry-after')).toBe('1')
  resolve()
  expect(await (await first).text()).toBe('done')
  await server.stop()
})

test('a request to upgrade is answered like any other, and its frames are not read', async () => {
  const handler = () => new Response('no such route', { status: 404 })
  const server = listen({ hostname, port: 0, handler })
  const ended = Promise.withResolvers<void>()
  let text = ''
  const socket = await Bun.connect({
    hostname,
    port: server.port,
    socket: {
      data: (_socket, bytes) => {
        text += bytes.toString('latin1')
      },
      close: () => ended.resolve(),
    },
  })
  const lines = ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13']
  const head = `GET / HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
  socket.write(Buffer.from(`${head}\x82\xfe\xff\xff${'\xff'.repeat(20_000)}`, 'latin1'))
  await ended.promise
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 400'])
  await server.stop()
})

test('an uncaught handler error is reported to the owner and reveals nothing to the client', async () => {
  const seen: unknown[] = []
  const server = listen({
    hostname,
    port: 0,
    handler: () => {
      throw new Error('the prompt was X')
    },
    onError: (error) => void seen.push(error),
  })
  const response = await fetch(server.url)
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('prompt')
  expect(seen).toHaveLength(1)
  await server.stop()
})

async function bodyOutcome(init: RequestInit, limitBytes: number): Promise<string> {
  const server = listen({
    hostname,
    port: 0,
    handler: async (request) => {
      try {
        return new Response((await readBody(request, limitBytes)) as Uint8Array<ArrayBuffer>)
      } catch (error) {
        return new Response(error instanceof ServiceError ? error.code : 'other', { status: 400 })
      }
    },
  })
  try {
    return await (await fetch(server.url, { method: 'POST', ...init })).text()
  } finally {
    await server.stop({ graceMs: 0 })
  }
}

function chunked(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const letter of text) controller.enqueue(new TextEncoder().encode(letter))
      controller.close()
    },
  })
}

test('a body is read whole, declared or in chunks', async () => {
  expect(await bodyOutcome({ body: 'hello' }, 5)).toBe('hello')
  expect(await bodyOutcome({ body: chunked('hello') }, 5)).toBe('hello')
})

test('a long body is copied piece by piece as it arrives, and each piece is freed', async () => {
  const long = Buffer.alloc(300_000, 'some words')
  expect(await bodyOutcome({ body: long }, 300_000)).toBe(long.toString())
  const pieces = [100_000, 150_000, 50_000].map((length) => new Uint8Array(length).fill(7))
  /** How many were freed when each one was asked for. */
  const freed: number[] = []
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = pieces[freed.length]
        freed.push(pieces.filter(({ length }) => length === 0).length)
        if (next === undefined) controller.close()
        else controller.enqueue(next)
      },
    },
    { highWaterMark: 0 },
  )
  const request = new Request('http://worker', {
    ...{ method: 'POST', body, headers: { 'content-length': '300000' } },
  })
  const read = await readBody(request, 300_000)
  expect(read).toEqual(new Uint8Array(300_000).fill(7))
  expect(freed).toEqual([0, 1, 2, 3])
})

test('a long body that ends before its declared length is refused', async () => {
  const body = new Response(new Uint8Array(100_000)).body
  const headers = { 'content-length': '100001' }
  const request = new Request('http://worker', { method: 'POST', body, headers })
  expect(await rejection(readBody(request, 200_000))).toMatchObject({ code: 'body_interrupted' })
})

test('a body over the limit is refused, declared or in chunks', async () => {
  expect(await bodyOutcome({ body: 'hello!' }, 5)).toBe('body_too_large')
  expect(await bodyOutcome({ body: chunked('hello!') }, 5)).toBe('body_too_large')
})

test('a gzip body is decoded within the limit and a bomb is refused', async () => {
  const headers = { 'content-encoding': 'gzip' }
  const body = Bun.gzipSync(Buffer.from('hello'))
  expect(await bodyOutcome({ headers, body }, 100)).toBe('hello')
  const bomb = Bun.gzipSync(Buffer.alloc(4_000_000))
  expect(await bodyOutcome({ headers, body: bomb }, 10_000)).toBe('body_too_large')
  const broken = Buffer.from('this is not gzip')
  expect(await bodyOutcome({ headers, body: broken }, 100)).toBe('body_encoding_broken')
  const cut = body.subarray(0, body.length - 6)
  expect(await bodyOutcome({ headers, body: cut }, 100)).toBe('body_encoding_broken')
})

test('another content-encoding is refused', async () => {
  const headers = { 'content-encoding': 'br' }
  expect(await bodyOutcome({ headers, body: 'x' }, 100)).toBe('body_encoding_unsupported')
})

test('request ids are 32 hex digits and do not repeat', () => {
  const ids = Array.from({ length: 1000 }, newRequestId)
  expect(new Set(ids).size).toBe(1000)
  expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
})
