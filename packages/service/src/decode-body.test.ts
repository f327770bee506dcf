import { expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { decodeBody } from './decode-body.ts'

const text = Buffer.from('all of it '.repeat(1000))

async function decoded(body: Uint8Array, limitBytes: number) {
  const reserved: number[] = []
  const bytes = await decodeBody(body, 'gzip', limitBytes, (count) => void reserved.push(count))
  expect(Buffer.from(bytes).equals(text)).toBe(true)
  // Its slices are copies.
  expect(bytes.constructor).toBe(Uint8Array)
  return reserved
}

test('as much memory is reserved as a body needs, before it is decoded', async () => {
  expect(await decoded(Bun.gzipSync(text), 1_000_000)).toEqual([text.length])
})

test('a body of several members gets the rest of the limit, and one that lies is refused', async () => {
  const lying = Buffer.from(Bun.gzipSync(text))
  lying.writeUInt32LE(10, lying.length - 4)
  const broken = await rejection(decodeBody(lying, 'gzip', 50_000))
  expect(broken).toMatchObject({ code: 'body_encoding_broken' })
  const halves = [text.subarray(0, 7000), text.subarray(7000)].map((half) =>
    Bun.gzipSync(Buffer.from(half)),
  )
  expect(await decoded(Buffer.concat(halves), 50_000)).toEqual([3000, 47_000])
})

test('a body for which there is no memory is not decoded', async () => {
  const full = () => {
    throw new Error('full')
  }
  const decoding = decodeBody(Bun.gzipSync(text), 'gzip', 1_000_000, full)
  expect(await rejection(decoding)).toMatchObject({ message: 'full' })
})

test('a body that would be longer than the limit is refused', async () => {
  const decoding = decodeBody(Bun.gzipSync(text), 'gzip', text.length - 1)
  expect(await rejection(decoding)).toMatchObject({ code: 'body_too_large' })
})
