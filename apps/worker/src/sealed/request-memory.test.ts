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

test('memory of earlier requests is freed after every 128 MiB of long ones', () => {
  let collected = 0
  const memory = new RequestMemory(512 * mebibyte, () => collected++)
  const serve = (count: number, bytes: number) => {
    for (let i = 0; i < count; i++) memory.take(bytes)()
  }
  serve(10_000, 64 * 1024) // short ones do not count
  serve(4, 32 * mebibyte)
  expect(collected).toBe(0)
  serve(1, mebibyte)
  expect(collected).toBe(1)
  serve(8, 32 * mebibyte)
  expect(collected).toBe(2)
})
