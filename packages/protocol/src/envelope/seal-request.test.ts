import { expect, test } from 'bun:test'
import { joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { openRequest } from './open-request.ts'
import { beginRequest } from './seal-request.ts'
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
  const bytes = joinBytes([sealing.first, ...frames])
  const opened = await openRequest(
    provider,
    () => session.secret,
    () => {},
    bytes,
  )
  return { sealing, frames, bytes, opened }
}

test('a short request is there at once', async () => {
  const { sealing, frames, bytes, opened } = await seal(new Uint8Array(100).fill(1))
  expect(frames).toHaveLength(0)
  expect(bytes.length).toBe(sealing.lengthBytes)
  expect(opened.body).toEqual(new Uint8Array(100).fill(1))
})

test('a long request begins with its prelude, and every frame is sealed when it is asked for', async () => {
  const body = new Uint8Array(600_000).fill(2)
  const { sealing, frames, bytes, opened } = await seal(body)
  expect(frames).toHaveLength(3)
  expect(sealing.first.length).toBeLessThan(2000)
  expect(bytes.length).toBe(sealing.lengthBytes)
  expect(opened.body).toEqual(body)
})
