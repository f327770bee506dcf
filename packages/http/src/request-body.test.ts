/** How much of a body is read, and how its consumer learns that it will not be complete. */
import { expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { BodyMemory } from './body-memory.ts'
import type { HttpExchange } from './http-exchange.ts'
import { RequestBody } from './request-body.ts'
import { bareConnection } from './testing/bare-connection.ts'

const tooLarge = { status: 413 }

test('a body that announces more than the limit is refused before a byte of it', () => {
  const wants: boolean[] = []
  const body = new RequestBody(11, (more) => void wants.push(more))
  expect(() => void body.whole(10)).toThrow(expect.objectContaining(tooLarge))
  expect(wants).toEqual([])
})

test('a body without a length is refused where it exceeds the limit', async () => {
  const memory = new BodyMemory(1000)
  const body = new RequestBody('chunked', () => {}, memory)
  const whole = Promise.resolve(body.whole(10))
  body.feed(Buffer.from('a\r\n0123456789\r\n'), 0)
  expect(memory.heldBytes).toBe(10)
  body.feed(Buffer.from('1\r\n+'), 0)
  expect(memory.heldBytes).toBe(0)
  expect(await rejection(whole)).toMatchObject(tooLarge)
})

test('a body that failed before it was requested does not complete later', () => {
  const body = new RequestBody(3, () => {})
  expect(body.fail(new Error('gone'))).toBe(true)
  expect(() => void body.whole(10)).toThrow('gone')
})

test('what has been received of a long body is shown while it arrives', async () => {
  const whole = Buffer.alloc(300_000, 'abcdefg')
  const body = new RequestBody(whole.length, () => {})
  body.feed(Buffer.from(whole.subarray(0, 10)), 0)
  const seen: string[] = []
  const received = body.whole(whole.length, (bytes) => {
    seen.push(`${bytes.length} ${whole.subarray(0, bytes.length).equals(bytes)}`)
  })
  for (const [start, end] of [
    [10, 100_000],
    [100_000, 100_001],
    [100_001, 300_000],
  ] as const)
    body.feed(Buffer.from(whole.subarray(start, end)), 0)
  expect(seen).toEqual(['100000 true', '100001 true', '300000 true'])
  expect((await received).bytes.equals(whole)).toBe(true)
})

test('the memory of a long body serves the next one, and earlier views of it are empty', async () => {
  const memory = new BodyMemory(10_000_000)
  const content = Buffer.alloc(300_000, 'a')
  const body = new RequestBody(content.length, () => {}, memory)
  const received = Promise.resolve(body.whole(content.length))
  body.feed(content, 0)
  const { bytes } = await received
  expect(memory.spareBytes).toBe(0)
  body.reuse()
  expect([bytes.length, memory.heldBytes]).toEqual([0, 0])
  expect(memory.spareBytes).toBeGreaterThanOrEqual(300_000)
  memory.allocate(299_000)
  expect(memory.spareBytes).toBe(0)
})

test('memory for later bodies is bounded, and kept for half a second', async () => {
  const memory = new BodyMemory(10_000_000)
  const mib = 1024 * 1024
  const many = [20 * mib, 10 * mib, 8 * mib].map((bytes) => memory.allocate(bytes))
  for (const buffer of many) memory.reuse(buffer)
  expect(many.map(({ detached }) => detached)).toEqual([true, true, true])
  expect(memory.spareBytes).toBe(30 * mib)
  memory.allocate(10 * mib)
  expect(memory.spareBytes).toBe(20 * mib)
  while (memory.spareBytes > 0) await Bun.sleep(20) // the time limit of the test ends it
})

test('a body that its client did not complete is freed, and not kept', async () => {
  const memory = new BodyMemory(10_000_000)
  const body = new RequestBody(300_000, () => {}, memory)
  const received = Promise.resolve(body.whole(300_000))
  body.feed(Buffer.alloc(100_000, 'a'), 0)
  body.fail(new Error('gone'))
  expect(await rejection(received)).toMatchObject({ message: 'gone' })
  body.reuse()
  expect([memory.heldBytes, memory.spareBytes]).toEqual([0, 0])
})

/** A connection with a chunked request in progress. */
function begin(handle: (exchange: HttpExchange) => void) {
  const refuse = () => expect.unreachable('the request is known to its handler')
  const { connection, done } = bareConnection({ begin: handle, refuse })
  connection.data(Buffer.from('POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n'))
  return { done, send: (text: string) => connection.data(Buffer.from(text)) }
}

test('a handler waiting for a body is notified that it is malformed, and answers', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const { done, send } = begin(({ body }) => resolve(body.whole(100)))
  send('3\r\nabc\r\nzz\r\n')
  expect(await rejection(promise)).toMatchObject({ status: 400 })
  expect(done).toEqual([])
})

test('a handler streaming a body sees the connection end', () => {
  const seen: string[] = []
  const { done, send } = begin((exchange) => {
    exchange.onGone = () => void seen.push('gone')
    exchange.body.stream({ data: (bytes) => seen.push(`${bytes.length}`) > 0, end: () => {} })
  })
  send('3\r\nabc\r\nzz\r\n')
  expect([seen, done]).toEqual([['3', 'gone'], ['cut']])
})

test('a short body is freed with the buffer it arrived in, once it is not needed', () => {
  const bytes = Buffer.alloc(4000)
  const body = new RequestBody(3000, () => {})
  body.feed(bytes, 1000)
  body.arrivedIn(bytes)
  expect(body.whole(5000)).toMatchObject({ start: 1000, end: 4000 })
  expect(bytes.length).toBe(4000)
  body.reuse()
  expect(bytes.length).toBe(0)
})
