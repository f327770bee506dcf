/** The cost of opening a request is bounded by its bytes, however a client lays out its frames. */
import { expect, test } from 'bun:test'
import { type Bytes, type CryptoProvider, openRequest } from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { craftRequest, emptyFrames, tinyRecords } from './crafted-request.ts'
import { context, findSecretOf, seal, sessionsWith, testWorker } from './exchange.ts'

const worker = await testWorker(1)
const sessions = await sessionsWith([worker])

/** The native provider, and how many frames and keys it has opened. */
function counting(): { readonly provider: CryptoProvider; readonly opened: () => number } {
  let opened = 0
  const aeadKey = async (raw: Bytes) => {
    const key = await nativeCrypto.aeadKey(raw)
    const open: typeof key.open = (...given) => {
      opened++
      return key.open(...given)
    }
    return { ...key, open }
  }
  return { provider: { ...nativeCrypto, aeadKey }, opened: () => opened }
}

async function open(bytes: Bytes) {
  const { provider, opened } = counting()
  const opening = (async () => await openRequest(provider, findSecretOf(worker), () => {}, bytes))()
  const result = await opening.then(
    ({ body }) => body.length,
    (error) => error.code,
  )
  return { result, opened: opened() }
}

test('a request of a million data records of one byte is refused in its first megabyte', async () => {
  const bytes = await craftRequest(nativeCrypto, sessions, context, tinyRecords(1_000_000))
  const { result, opened } = await open(bytes)
  expect(result).toBe('malformed')
  expect(opened).toBeLessThanOrEqual(1 + 4) // the wrapped key, and four frames
})

test('a request of twenty thousand empty frames is refused without opening one', async () => {
  const bytes = await craftRequest(nativeCrypto, sessions, context, emptyFrames(20_000))
  expect(await open(bytes)).toEqual({ result: 'malformed', opened: 1 })
})

test('half-full frames are accepted, shorter ones are refused', async () => {
  const { bytes } = await seal(nativeCrypto, sessions, new Uint8Array(600_000))
  expect(await open(bytes)).toEqual({ result: 600_000, opened: 4 })
  const [first, , end] = [...emptyFrames(1)] as [Bytes, Bytes, Bytes]
  for (const [length, result] of [
    [128 * 1024, 0],
    [128 * 1024 - 1, 'malformed'],
  ] as const) {
    const padded = new Uint8Array(length)
    padded.set(first)
    const frames = [padded, new Uint8Array(length), end]
    const crafted = await craftRequest(nativeCrypto, sessions, context, frames)
    expect((await open(crafted)).result).toBe(result)
  }
})
