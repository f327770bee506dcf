import { describe, expect, test } from 'bun:test'
import {
  type Bytes,
  type CryptoProvider,
  EnvelopeError,
  equalBytes,
  joinBytes,
  openRequest,
  webCryptoProvider,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import fc from 'fast-check'
import { rejection } from '../rejection.ts'
import {
  answerFrames,
  findSecretOf,
  open,
  readAnswer,
  seal,
  seeded,
  sessionsWith,
  testWorker,
} from './exchange.ts'

const workers = await Promise.all([testWorker(1), testWorker(2), testWorker(3)])
const [first, second, third] = workers as [
  (typeof workers)[0],
  (typeof workers)[0],
  (typeof workers)[0],
]
const sessions = await sessionsWith([first, second])

const providers: [string, CryptoProvider][] = [
  ['native', nativeCrypto],
  ['WebCrypto', webCryptoProvider],
]

const text = (parts: Awaited<ReturnType<typeof readAnswer>>) =>
  parts.map((part) => (part.kind === 'data' ? new TextDecoder().decode(part.bytes) : '')).join('')

const flipped = (bytes: Bytes, position: number, bit = position % 8) => {
  const copy = bytes.slice()
  copy[position] = (copy[position] ?? 0) ^ (1 << bit)
  return copy
}

const refused = expect.any(EnvelopeError)

/** One recorded exchange. Randomness comes from the seed, so `reopen` returns a fresh opener for it. */
async function recorded(seed: number, texts = ['Once ', 'upon ', 'a time']) {
  const { bytes } = await reopen(seed)
  const frames = await answerFrames(await open(nativeCrypto, first, bytes), texts)
  return { bytes, frames }
}

const reopen = (seed: number) =>
  seal(seeded(nativeCrypto, seed), sessions, undefined, {
    requestId: new Uint8Array(16).fill(seed),
  })

describe.each(providers)('with the %s provider', (_name, provider) => {
  test('every candidate opens the request and the client opens its answer', async () => {
    for (const worker of [first, second]) {
      const { bytes, opener } = await seal(provider, sessions, '{"model":"m","prompt":"secret"}')
      const request = await open(provider, worker, bytes)
      expect(new TextDecoder().decode(request.body)).toBe('{"model":"m","prompt":"secret"}')
      expect(request.head.headers).toEqual({ 'anthropic-version': '2023-06-01' })
      const parts = await readAnswer(opener, await answerFrames(request, ['Once ', 'upon']))
      expect(parts[0]).toEqual({
        kind: 'head',
        head: { status: 200, headers: { 'content-type': 'x' } },
      })
      expect(text(parts)).toBe('Once upon')
      expect(parts.at(-1)?.kind).toBe('end')
      expect(opener.workerId).toBe(worker.worker.workerId)
    }
  })

  test('a worker that is not a candidate reports an unknown key', async () => {
    const { bytes } = await seal(provider, sessions)
    expect(await rejection(open(provider, third, bytes))).toMatchObject({ code: 'unknown_key' })
  })

  test('a worker whose statement differs from the verified one opens nothing', async () => {
    const { bytes } = await seal(provider, sessions)
    const otherStatement = (_id: Bytes, encapsulation: Bytes) =>
      first.keys.openSession(encapsulation, new Uint8Array(32))
    const opened = async () => await openRequest(provider, otherStatement, () => {}, bytes)
    expect(await rejection(opened())).toMatchObject({ code: 'authentication_failed' })
  })

  test('a body of any size arrives complete, in frames within their limit', async () => {
    for (const size of [0, 1, 1000, 256 * 1024 - 40, 256 * 1024, 700_001]) {
      const body = nativeCrypto.random(Math.min(size, 65536))
      const large = joinBytes(Array.from({ length: Math.ceil(size / 65536) }, () => body)).slice(
        0,
        size,
      )
      const { bytes } = await seal(provider, sessions, large)
      const request = await open(provider, first, bytes)
      expect(equalBytes(request.body, large)).toBe(true)
    }
  })

  test('an answer cut into any pieces reads the same', async () => {
    for (const size of [1, 2, 3, 7, 64, 1000]) {
      const { bytes, opener } = await seal(provider, sessions)
      const frames = await answerFrames(await open(provider, first, bytes), ['abc', 'def'])
      const whole = joinBytes(frames)
      const pieces = []
      for (let at = 0; at < whole.length; at += size) pieces.push(whole.slice(at, at + size))
      expect(text(await readAnswer(opener, pieces))).toBe('abcdef')
    }
  })
})

describe('a hostile gateway', () => {
  test('cannot change one bit of a request', async () => {
    const { bytes } = await seal(nativeCrypto, sessions)
    const secrets = new Map<string, Bytes>()
    const find = async (id: Bytes, encapsulation: Bytes) => {
      const key = Buffer.from(encapsulation).toString('base64')
      const known = secrets.get(key) ?? (await findSecretOf(first)(id, encapsulation))
      if (known !== undefined) secrets.set(key, known)
      return known
    }
    let refusals = 0
    for (let position = 0; position < bytes.length; position++) {
      // Decapsulation costs milliseconds: inside encapsulations every 16th byte is flipped here.
      const inEncapsulation = position > 80 && position < 80 + 2 * 1136
      if (inEncapsulation && position % 16 !== 0) continue
      const tampered = flipped(bytes, position)
      const attempt = (async () => await openRequest(nativeCrypto, find, () => {}, tampered))()
      expect(await rejection(attempt)).toEqual(refused)
      refusals++
    }
    expect(refusals).toBeGreaterThan(1000)
  })

  test('cannot truncate a request anywhere', async () => {
    const { bytes } = await seal(nativeCrypto, sessions)
    for (let length = 0; length < bytes.length; length += 5) {
      const attempt = async () => await open(nativeCrypto, first, bytes.slice(0, length))
      expect(await rejection(attempt())).toEqual(refused)
    }
  })

  test('cannot change one bit of an answer', async () => {
    const { frames } = await recorded(1)
    const whole = joinBytes(frames)
    for (let position = 0; position < whole.length; position++) {
      for (let bit = 0; bit < 8; bit++) {
        const { opener } = await reopen(1)
        expect(await rejection(readAnswer(opener, [flipped(whole, position, bit)]))).toEqual(
          refused,
        )
      }
    }
  })

  test('cannot truncate an answer at a frame boundary or inside a frame', async () => {
    const { frames } = await recorded(1)
    const whole = joinBytes(frames)
    for (let length = 0; length < whole.length; length++) {
      const { opener } = await reopen(1)
      expect(await rejection(readAnswer(opener, [whole.slice(0, length)]))).toMatchObject({
        code: 'truncated',
      })
    }
  })

  test('cannot drop, repeat, swap or append frames', async () => {
    const texts = ['a', 'b', 'c', 'd', 'e']
    const { frames } = await recorded(1, texts)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(frames.length - 1), { maxLength: 12 }), async (order) => {
        const untouched = order.length === frames.length && order.every((at, i) => at === i)
        fc.pre(!untouched)
        const { opener } = await reopen(1)
        const chunks = order.map((at) => frames[at] ?? new Uint8Array())
        expect(await rejection(readAnswer(opener, chunks))).toEqual(refused)
      }),
      { numRuns: 400 },
    )
  })

  test('cannot splice frames of one answer into another', async () => {
    const one = await recorded(1)
    const other = await recorded(2)
    for (let at = 0; at < one.frames.length; at++) {
      const spliced = one.frames.map((frame, i) => (i === at ? (other.frames[i] ?? frame) : frame))
      const { opener } = await reopen(1)
      expect(await rejection(readAnswer(opener, spliced))).toEqual(refused)
    }
  })

  test('cannot pass the answer to one request off as the answer to another', async () => {
    const { frames } = await recorded(1)
    const { opener } = await reopen(2)
    expect(await rejection(readAnswer(opener, frames))).toEqual(refused)
  })

  test('cannot reflect the request as its own answer', async () => {
    const { bytes, frames } = await recorded(1)
    expect(await rejection(readAnswer((await reopen(1)).opener, [bytes]))).toEqual(refused)
    const requestFrame = bytes.slice(-(4096 + 21))
    const reflected = joinBytes([frames[0] ?? new Uint8Array(), requestFrame])
    expect(await rejection(readAnswer((await reopen(1)).opener, [reflected]))).toMatchObject({
      code: 'authentication_failed',
    })
  })

  test('cannot make a failed answer continue: errors are sticky', async () => {
    const { frames } = await recorded(1)
    const { opener } = await reopen(1)
    const [prelude, head, ...rest] = frames as [Bytes, Bytes, ...Bytes[]]
    expect(() => opener.push(joinBytes([prelude, flipped(head, 8)]))).toThrow(EnvelopeError)
    for (const frame of [head, ...rest]) {
      expect(() => opener.push(frame)).toThrow('frame 0 is not authentic')
    }
    expect(() => opener.finish()).toThrow('frame 0 is not authentic')
  })
})

test('prompts of similar length have the same sealed length', async () => {
  const sizes = new Set<number>()
  for (let size = 0; size < 800; size += 50) {
    sizes.add((await seal(nativeCrypto, sessions, 'x'.repeat(size))).bytes.length)
  }
  expect(sizes.size).toBe(1)
})
