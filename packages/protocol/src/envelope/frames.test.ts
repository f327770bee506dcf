import { expect, test } from 'bun:test'
import { joinBytes } from './byte-strings.ts'
import type { AeadKey, Bytes } from './crypto-provider.ts'
import { FrameOpener, FrameSealer, maxFramePlaintext } from './frames.ts'

/** No cipher at all: these tests are about framing, not about the content. */
const openKey: AeadKey = {
  seal: (_nonce, _aad, parts) => [...parts, new Uint8Array(16)],
  open: (_nonce, _aad, bytes) => bytes.subarray(0, bytes.length - 16),
}
const brokenKey: AeadKey = { ...openKey, open: () => undefined }

const frame = (length: number, flags: number, content = new Uint8Array(Math.max(0, length))) =>
  joinBytes([Uint8Array.of(length >>> 24, length >>> 16, length >>> 8, length, flags), content])

const codeOf = (act: () => unknown) => {
  try {
    act()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'accepted'
}

const sealed = (last: boolean) =>
  joinBytes(new FrameSealer(openKey).seal([Uint8Array.of(1, 2, 3)], last) as Bytes[])

test('nothing is sealed after the last frame', () => {
  const sealer = new FrameSealer(openKey)
  void sealer.seal([], true)
  expect(codeOf(() => sealer.seal([], false))).toBe('trailing_bytes')
})

test('a frame over the limit is neither sealed nor opened', () => {
  const over = new Uint8Array(maxFramePlaintext + 1)
  expect(codeOf(() => new FrameSealer(openKey).seal([over], false))).toBe('too_large')
  const header = frame(maxFramePlaintext + 17, 0, new Uint8Array())
  expect(codeOf(() => new FrameOpener(openKey).push(header))).toBe('too_large')
})

test('bytes after the last frame are refused, in the same chunk and in a later one', () => {
  const together = joinBytes([sealed(true), Uint8Array.of(0)])
  expect(codeOf(() => new FrameOpener(openKey).push(together))).toBe('trailing_bytes')
  const opener = new FrameOpener(openKey)
  void opener.push(sealed(true))
  expect(codeOf(() => opener.push(Uint8Array.of(0)))).toBe('trailing_bytes')
})

test('holdsBytes reports whether pushed bytes are still needed', () => {
  const opener = new FrameOpener(openKey)
  const bytes = sealed(false)
  for (const size of [1, 5, bytes.length - 1]) {
    const one = new FrameOpener(openKey)
    void one.push(bytes.subarray(0, size))
    expect(one.holdsBytes).toBe(true)
    void one.push(bytes.subarray(size))
    expect(one.holdsBytes).toBe(false)
  }
  void opener.push(joinBytes([bytes, Uint8Array.of(0)]))
  expect(opener.holdsBytes).toBe(true)
})

test('unknown flags are refused', () => {
  for (const flags of [2, 3, 0x80]) {
    expect(codeOf(() => new FrameOpener(openKey).push(frame(16, flags)))).toBe('malformed')
  }
})

test('a frame too short for its tag is refused', () => {
  for (const length of [0, 1, 15]) {
    expect(codeOf(() => new FrameOpener(openKey).push(frame(length, 0)))).toBe('malformed')
  }
})

test('errors are sticky: the opener repeats the first one instead of reading on', () => {
  const opener = new FrameOpener(brokenKey)
  expect(codeOf(() => opener.push(sealed(false)))).toBe('authentication_failed')
  expect(codeOf(() => opener.push(new Uint8Array()))).toBe('authentication_failed')
  expect(codeOf(() => opener.finish())).toBe('authentication_failed')
})

test('every frame has its own nonce', () => {
  const nonces: string[] = []
  const key: AeadKey = {
    ...openKey,
    seal: (nonce, _aad, parts) => {
      nonces.push(nonce.toString())
      return parts
    },
  }
  const sealer = new FrameSealer(key)
  for (let i = 0; i < 300; i++) void sealer.seal([], false)
  expect(new Set(nonces).size).toBe(300)
})

test('the frame counter never wraps: the frame limit is reached first', () => {
  const sealer = new FrameSealer(openKey, 2)
  void sealer.seal([], false)
  void sealer.seal([], false)
  expect(codeOf(() => sealer.seal([], false))).toBe('too_large')
  const opener = new FrameOpener(openKey, { maxFrames: 1 })
  void opener.push(sealed(false))
  expect(codeOf(() => opener.push(sealed(false)))).toBe('too_large')
})
