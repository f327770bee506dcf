import { expect, test } from 'bun:test'
import { RequestBody } from '@privatemode/http'
import { streamBody } from './stream-body.ts'

/** A body of a megabyte on its way to a worker that accepts as much as the test says. */
function startStream() {
  const world = { sent: 0, accepts: true, reading: true, turns: [] as (() => void)[] }
  let drained = () => {}
  const body = new RequestBody(1_000_000, (more) => {
    world.reading = more
  })
  const connection = {
    write(bytes: Uint8Array) {
      world.sent += bytes.length
      return world.accepts
    },
    whenDrained(then: () => void) {
      if (world.accepts) then()
      else drained = then
    },
  }
  streamBody(body, connection, () => new Promise((resolve) => world.turns.push(resolve)))
  const drain = () => {
    world.accepts = true
    drained()
  }
  return { world, drain, feed: (bytes: Buffer) => body.feed(bytes, 0) }
}

const untilResumed = () => new Promise((resolve) => setImmediate(resolve))

test('after a large piece, the client is read again in its turn, and the piece is freed', async () => {
  const { world, feed } = startStream()
  const piece = Buffer.alloc(512 * 1024)
  feed(piece)
  expect([world.sent, world.reading, world.turns.length]).toEqual([512 * 1024, false, 1])
  expect(piece.length).toBe(0)
  world.turns[0]?.()
  await untilResumed()
  expect(world.reading).toBe(true)
})

test('small pieces do not wait for a turn', () => {
  const { world, feed } = startStream()
  feed(Buffer.alloc(1000))
  expect([world.sent, world.reading, world.turns.length]).toEqual([1000, true, 0])
})

test('a worker that is slow to read comes first, and bytes that wait for it are kept', async () => {
  const { world, drain, feed } = startStream()
  world.accepts = false
  const piece = Buffer.alloc(512 * 1024)
  feed(piece)
  expect([world.reading, world.turns.length, piece.length]).toEqual([false, 0, 512 * 1024])
  drain()
  expect([world.reading, world.turns.length]).toEqual([false, 1])
  world.turns[0]?.()
  await untilResumed()
  expect(world.reading).toBe(true)
})
