import { expect, test } from 'bun:test'
import { releaseBytes } from './release-bytes.ts'

test('bytes that own their memory are empty once they are released', () => {
  const bytes = new Uint8Array(64 * 1024).fill(1)
  releaseBytes(bytes)
  expect(bytes.length).toBe(0)
})

test('bytes that share their memory with others, and small ones, are left alone', () => {
  const all = new Uint8Array(128 * 1024).fill(1)
  releaseBytes(all.subarray(0, 64 * 1024))
  expect(all.length).toBe(128 * 1024)
  expect(all[0]).toBe(1)
  const small = new Uint8Array(100)
  releaseBytes(small)
  expect(small.length).toBe(100)
})
