import { expect, test } from 'bun:test'
import { RequestMemory } from './request-memory.ts'

const mebibyte = 1024 * 1024
const overloaded = expect.objectContaining({ code: 'overloaded', retryAfterSeconds: 1 })

test('large requests share the memory, and each releases its share once', () => {
  const memory = new RequestMemory(10 * mebibyte)
  const leave = memory.take(6 * mebibyte)
  expect(() => memory.take(6 * mebibyte)).toThrow(overloaded)
  const other = memory.take(4 * mebibyte)
  leave()
  leave()
  expect(memory.takenBytes).toBe(4 * mebibyte)
  other()
  expect(memory.takenBytes).toBe(0)
})

test('short requests are accepted even when the memory is full', () => {
  const memory = new RequestMemory(mebibyte)
  memory.take(mebibyte)
  expect(() => memory.take(64 * 1024)).not.toThrow()
  expect(() => memory.take(64 * 1024 + 1)).toThrow(overloaded)
})
