import { expect, test } from 'bun:test'
import { RequestRoom } from './request-room.ts'

const mebibyte = 1024 * 1024
const overloaded = expect.objectContaining({ code: 'overloaded', retryAfterSeconds: 1 })

test('large requests share the room, and get it back once', () => {
  const room = new RequestRoom(10 * mebibyte)
  const leave = room.take(6 * mebibyte)
  expect(() => room.take(6 * mebibyte)).toThrow(overloaded)
  const other = room.take(4 * mebibyte)
  leave()
  leave()
  expect(room.takenBytes).toBe(4 * mebibyte)
  other()
  expect(room.takenBytes).toBe(0)
})

test('short requests are taken when the room is full', () => {
  const room = new RequestRoom(mebibyte)
  room.take(mebibyte)
  expect(() => room.take(64 * 1024)).not.toThrow()
  expect(() => room.take(64 * 1024 + 1)).toThrow(overloaded)
})
