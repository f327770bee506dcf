/** The tools of a campaign work as described. */

import { afterAll, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { freePort } from '@privatemode/service/testing'
import { exchange } from '../load/raw-exchange.ts'
import { createChance } from '../random.ts'
import { Ears } from './ears.ts'
import { Link } from './link.ts'
import { forgePayload, tcpChecksum } from './packet.ts'

const secret = 'canary-0123456789abcdef0123456789abcdef'
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => new Response(await request.text()),
})
const ears = new Ears([secret])
const link = new Link({
  name: 'link',
  port: freePort(),
  targets: [
    { host: '127.0.0.1', port: freePort() },
    { host: '127.0.0.1', port: server.port ?? 0 },
  ],
  chance: createChance(3),
  ears,
})
await link.open()
afterAll(async () => {
  link.close()
  await server.stop(true)
})

const ask = (body: string, timeoutMs = 2_000) =>
  exchange({ port: link.port }, { path: '/', body, timeoutMs })

test('a secret is found in any encoding and across pieces, and nothing else is', () => {
  for (const encoding of ['utf8', 'base64', 'hex', 'utf16le'] as const) {
    const own = new Ears([secret])
    const bytes = Buffer.from(
      `xy${Buffer.from(secret).toString(encoding === 'utf16le' ? 'utf8' : encoding)}z`,
      encoding === 'utf16le' ? 'utf16le' : 'utf8',
    )
    const hear = own.stream('place')
    hear(bytes.subarray(0, 20))
    expect(own.heard).toEqual([])
    hear(bytes.subarray(20))
    expect(own.heard.length).toBeGreaterThan(0)
  }
  const other = new Ears([secret])
  other.stream('place')(Buffer.from(secret.replace('canary-01', 'canary-02')))
  expect(other.heard).toEqual([])
})

test('a link relays, listens, skips targets that are down, and can cut, swallow and flip', async () => {
  expect(await ask('hello')).toMatchObject({ status: 200, text: 'hello', ending: 'whole' })
  expect(ears.heard).toEqual([])
  await ask(secret)
  expect(ears.heard.length).toBeGreaterThan(0)
  link.set({ refuse: true })
  expect((await ask('hello')).status).toBe(0)
  link.set({ swallow: true })
  expect(await ask('hello', 200)).toMatchObject({ status: 0, ending: 'timeout' })
  link.set({ flip: 1 })
  const changed = await ask('h'.repeat(50_000), 1_000)
  expect(changed.status === 200 && changed.text === 'h'.repeat(50_000)).toBe(false)
  link.clear()
  expect(await ask('hello')).toMatchObject({ status: 200, text: 'hello' })
})

test('a truncated answer is distinguished from a complete one', async () => {
  const port = freePort()
  const half = createServer((socket) => {
    socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo')
  })
  await new Promise<void>((resolve) => void half.listen(port, '127.0.0.1', resolve))
  const cut = await exchange({ port }, { path: '/', timeoutMs: 2_000 })
  expect(cut).toMatchObject({ status: 200, ending: 'cut', text: 'hellowo' })
  half.close()
})

test('a forged packet has a valid checksum and one flipped bit', () => {
  const packet = Buffer.alloc(20 + 20 + 13, 7)
  packet[0] = 0x45
  packet[9] = 6
  packet[32] = 0x50
  packet.writeUInt16BE(0, 36)
  packet.writeUInt16BE(tcpChecksum(packet, 20), 36)
  const before = Buffer.from(packet)
  expect(tcpChecksum(packet, 20)).toBe(0)
  expect(forgePayload(packet, createChance(9))).toBe(true)
  expect(tcpChecksum(packet, 20)).toBe(0)
  const bits = [...packet.subarray(40)].map((byte, index) => byte ^ before[40 + index]!)
  expect(bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)).toBe(1)
})
