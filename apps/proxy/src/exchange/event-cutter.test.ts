import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { EventCutter } from './event-cutter.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const decode = (pieces: readonly Uint8Array[]) => new TextDecoder().decode(Buffer.concat(pieces))

test('however a stream is split, every output ends at an event and all bytes arrive in order', () => {
  const stream = 'data: {"a":1}\n\n: waiting\n\nevent: ping\ndata: {}\n\ndata: [DONE]\n\n'
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (sizes) => {
      const cutter = new EventCutter()
      const bytes = encode(stream)
      let out = ''
      let at = 0
      for (let index = 0; at < bytes.length; index++) {
        const size = sizes[index % sizes.length] ?? 1
        const events = decode(cutter.push(bytes.subarray(at, at + size)))
        at += size
        expect(events === '' || events.endsWith('\n\n')).toBe(true)
        out += events
        expect(stream.startsWith(out)).toBe(true)
      }
      expect(out + decode(cutter.rest())).toBe(stream)
    }),
  )
})

test('an unfinished event is held back until its end or the end of the stream', () => {
  const cutter = new EventCutter()
  expect(decode(cutter.push(encode('data: 1\n\ndata: 2\n')))).toBe('data: 1\n\n')
  expect(decode(cutter.push(encode('\n')))).toBe('data: 2\n\n')
  expect(cutter.push(encode('data: 3'))).toHaveLength(0)
  expect(decode(cutter.rest())).toBe('data: 3')
  expect(cutter.rest()).toHaveLength(0)
})

test('held bytes are copied out of the memory they arrived in', () => {
  const cutter = new EventCutter()
  const frame = Buffer.from('data: 1\n\ndata: 2')
  expect(decode(cutter.push(frame))).toBe('data: 1\n\n')
  frame.fill(0) // the next frame is put there
  expect(decode(cutter.push(encode('\n\n')))).toBe('data: 2\n\n')
})

test('the held bytes are bounded', () => {
  const cutter = new EventCutter()
  const megabyte = new Uint8Array(1024 * 1024).fill(0x61)
  let passed = 0
  for (let index = 0; index < 40; index++) {
    for (const piece of cutter.push(megabyte)) passed += piece.length
  }
  expect(passed).toBeGreaterThan(20 * megabyte.length)
})
