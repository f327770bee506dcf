import { expect, test } from 'bun:test'
import { nativeCrypto } from '../../service/src/native-crypto.ts'
import { releaseBehind, releaseBytes, releaseOwnBytes } from './release-bytes.ts'

test('bytes that own their memory are empty once they are released', () => {
  const bytes = new Uint8Array(64 * 1024).fill(1)
  releaseBytes(bytes)
  expect(bytes.length).toBe(0)
})

test('bytes with shared memory, and small ones, are not released', () => {
  const all = new Uint8Array(128 * 1024).fill(1)
  releaseBytes(all.subarray(0, 64 * 1024))
  expect(all.length).toBe(128 * 1024)
  expect(all[0]).toBe(1)
  const small = new Uint8Array(100)
  releaseBytes(small)
  expect(small.length).toBe(100)
})

test("a cipher's output is released although its buffer is longer", async () => {
  const key = await nativeCrypto.aeadKey(new Uint8Array(32))
  const sealed = await key.seal(new Uint8Array(12), new Uint8Array(5), [new Uint8Array(64 * 1024)])
  const [ciphertext = new Uint8Array(1), tag = new Uint8Array(1)] = sealed
  expect(ciphertext.length).toBe(64 * 1024)
  for (const piece of sealed) releaseOwnBytes(piece)
  expect(ciphertext.buffer.byteLength).toBe(0)
  expect(tag.length).toBe(16)
})

test('a short view frees all memory behind it, unless that is short, too', () => {
  const [long, short] = [new Uint8Array(8192), new Uint8Array(100)]
  releaseBehind(long.subarray(5, 10))
  releaseBehind(short.subarray(5, 10))
  expect([long.length, short.length]).toEqual([0, 100])
})
