import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { leastRequestFrame, maxFramePlaintext } from './frames.ts'
import { openRequest } from './open-request.ts'
import { beginRequest, layOutRequest } from './seal-request.ts'
import { webCryptoProvider as provider } from './web-crypto-provider.ts'

const session = {
  workerId: 'w_1',
  sealKeyId: provider.random(16),
  encapsulation: provider.random(1120),
  secret: provider.random(32),
}

async function seal(body: Bytes) {
  const context = {
    requestId: provider.random(16),
    issuedAtMs: 1,
    method: 'POST',
    path: '/v1/x',
    model: 'm',
  }
  const head = { headers: {}, shape: 'off' } as const
  const sealing = await beginRequest(provider, [session], context, head, body)
  const frames: Bytes[] = []
  for (let frame = sealing.next(); frame !== undefined; frame = sealing.next()) {
    frames.push(joinBytes((await frame) as Bytes[]))
  }
  const bytes = joinBytes([...sealing.first, ...frames])
  const opened = await openRequest(
    provider,
    () => session.secret,
    () => {},
    bytes,
  )
  return { sealing, frames, bytes, opened }
}

test('a short request is available in one piece', async () => {
  const { sealing, frames, bytes, opened } = await seal(new Uint8Array(100).fill(1))
  expect(frames).toHaveLength(0)
  expect(bytes.length).toBe(sealing.lengthBytes)
  expect(opened.body).toEqual(new Uint8Array(100).fill(1))
})

test('a long request starts with its prelude, and each frame is sealed on demand', async () => {
  const body = new Uint8Array(600_000).fill(2)
  const { sealing, frames, bytes, opened } = await seal(body)
  expect(frames).toHaveLength(3)
  expect(joinBytes(sealing.first).length).toBeLessThan(2000)
  expect(bytes.length).toBe(sealing.lengthBytes)
  expect(opened.body).toEqual(body)
})

test('every frame before the last is at least half full, for any lengths', () => {
  const headLength = fc.integer({ min: 2, max: maxFramePlaintext - 5 })
  const bodyLength = fc.integer({ min: 0, max: 4 * maxFramePlaintext })
  const near = fc.integer({ min: -20, max: 20 }).map((by) => 2 * maxFramePlaintext + by)
  const shape = fc.constantFrom('off', 'default', 'strict')
  fc.assert(
    fc.property(headLength, fc.oneof(bodyLength, near), shape, (head, body, shape) => {
      const frames = layOutRequest(new Uint8Array(head), new Uint8Array(body), shape)
      for (const frame of frames.slice(0, -1)) {
        expect(joinBytes(frame).length).toBeGreaterThanOrEqual(leastRequestFrame)
      }
    }),
    { numRuns: 100 },
  )
})

test('a long body can take the place of what was sealed', async () => {
  const body = new Uint8Array(5_000_000).map((_, at) => at % 251)
  const { bytes } = await seal(body)
  const secret = () => session.secret
  const opened = await openRequest(provider, secret, () => {}, bytes, undefined, bytes)
  expect(Buffer.compare(opened.body, body)).toBe(0)
  expect(opened.body.buffer).toBe(bytes.buffer)
})

test('what the gateway is told of a long request is none of its text, whatever holds its bytes', async () => {
  const { bytes, opened: apart } = await seal(new Uint8Array(2_000_000).fill(0x61))
  for (const held of [bytes.slice(), Buffer.from(bytes)]) {
    const whole = held as typeof bytes
    const secret = () => session.secret
    const opened = await openRequest(provider, secret, () => {}, whole, undefined, whole)
    expect(opened.body.buffer).toBe(whole.buffer)
    expect(opened.context).toEqual(apart.context)
    expect(opened.sealKeyId).toEqual(session.sealKeyId)
  }
})

test('opening a long request yields after every megabyte', async () => {
  const body = new Uint8Array(5_000_000).map((_, at) => at % 251)
  const { bytes } = await seal(body)
  const secret = () => session.secret
  let turns = 0
  const giveTurn = async () => void turns++
  const opened = await openRequest(provider, secret, () => {}, bytes, giveTurn)
  expect(Buffer.compare(opened.body, body)).toBe(0)
  expect(turns).toBe(5)
})
