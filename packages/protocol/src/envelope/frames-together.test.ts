import { beforeAll, describe, expect, test } from 'bun:test'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { decodeText, encodeText, joinBytes } from './byte-strings.ts'
import type { AeadKey, Bytes } from './crypto-provider.ts'
import { FrameOpener, FrameSealer } from './frames.ts'
import { webCryptoProvider } from './web-crypto-provider.ts'

const words = ['one', 'two', 'three', 'four']
let key: AeadKey
let frames: Bytes[]

beforeAll(async () => {
  key = await webCryptoProvider.aeadKey(webCryptoProvider.random(32))
  const sealer = new FrameSealer(key)
  frames = []
  for (const [at, word] of words.entries()) {
    const last = at === words.length - 1
    frames.push(joinBytes(await sealer.seal([encodeText(word)], last)))
  }
})

const frame = (at: number): Bytes => frames[at] ?? new Uint8Array()
const push = async (...parts: Bytes[]) => await new FrameOpener(key).push(joinBytes(parts))
const flipped = (bytes: Bytes, at: number): Bytes => {
  const changed = new Uint8Array(bytes)
  changed[at] = (changed[at] ?? 0) ^ 1
  return changed
}

describe('frames that arrive together, opened by an asynchronous provider', () => {
  test('are read in order, whichever opens first', async () => {
    let waits = frames.length
    const backwards: AeadKey = {
      seal: key.seal,
      async open(nonce, aad, bytes) {
        await new Promise((resolve) => setTimeout(resolve, 2 * waits--))
        return key.open(nonce, aad, bytes)
      },
    }
    const opener = new FrameOpener(backwards)
    const opened = await opener.push(joinBytes(frames))
    expect(opened.map(({ plaintext }) => decodeText(plaintext))).toEqual(words)
    expect(opened.map(({ last }) => last)).toEqual([false, false, false, true])
    expect(() => opener.finish()).not.toThrow()
  })

  test('are all refused if one bit of any of them is changed', async () => {
    const whole = joinBytes(frames)
    for (let at = 0; at < whole.length; at++) {
      // A longer length waits for bytes that never arrive: the end is then missing.
      const opener = new FrameOpener(key)
      const read = async () => {
        await opener.push(flipped(whole, at))
        opener.finish()
      }
      expect(await rejection(read())).toMatchObject({ name: 'EnvelopeError' })
    }
    const second = push(frame(0), flipped(frame(1), 9), frame(2))
    expect(await thrown(second)).toThrow('frame 1 is not authentic')
  })

  test('are refused if one is missing, repeated or out of order', async () => {
    for (const order of [[1], [0, 2], [0, 0], [1, 0], [0, 1, 3]]) {
      const attempt = push(...order.map(frame))
      expect(await rejection(attempt)).toMatchObject({ code: 'authentication_failed' })
    }
  })

  test('are refused if bytes follow the end; a forged end is what the error blames', async () => {
    const more = Uint8Array.of(0)
    expect(await rejection(push(...frames, more))).toMatchObject({ code: 'trailing_bytes' })
    expect(await rejection(push(...frames, frame(0)))).toMatchObject({ code: 'trailing_bytes' })
    const forged = [frame(0), frame(1), frame(2), flipped(frame(3), 9), more]
    expect(await rejection(push(...forged))).toMatchObject({ code: 'authentication_failed' })
  })

  test('leave a sticky error', async () => {
    const opener = new FrameOpener(key)
    const attempt = async () => await opener.push(flipped(frame(0), 9))
    expect(await rejection(attempt())).toMatchObject({ code: 'authentication_failed' })
    expect(() => opener.push(frame(0))).toThrow('frame 0 is not authentic')
    expect(() => opener.finish()).toThrow('frame 0 is not authentic')
  })
})
