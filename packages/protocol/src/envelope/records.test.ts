import { expect, test } from 'bun:test'
import { joinBytes } from './byte-strings.ts'
import type { Bytes } from './crypto-provider.ts'
import { type Record, RecordReader, recordHeader } from './records.ts'

const record = (kind: Record['kind'], ...content: number[]) =>
  joinBytes([recordHeader(kind, content.length), Uint8Array.from(content)])

const read = (...frames: { parts: Bytes[]; last: boolean }[]) => {
  const reader = new RecordReader()
  return frames.flatMap(({ parts, last }) => reader.read({ plaintext: joinBytes(parts), last }))
}

const refused = (...frames: { parts: Bytes[]; last: boolean }[]) =>
  expect(() => read(...frames)).toThrow(expect.objectContaining({ code: 'malformed' }))

test('head, data and end may share a frame or each have their own', () => {
  const parts = [record('head', 1), record('data', 2, 3), record('end')]
  const together = read({ parts: [...parts, new Uint8Array(9)], last: true })
  const apart = read(
    ...parts.map((part, i) => ({ parts: [part, new Uint8Array(3)], last: i === 2 })),
  )
  expect(together.map(({ kind }) => kind)).toEqual(['head', 'data', 'end'])
  expect(apart).toEqual(together)
})

test('records out of order are refused', () => {
  refused({ parts: [record('data', 1)], last: false })
  refused({ parts: [record('end')], last: true })
  refused({ parts: [record('head'), record('head')], last: false })
  refused({ parts: [record('head'), record('end'), record('data', 1)], last: true })
  refused({ parts: [record('head'), record('end'), record('end')], last: true })
})

test('empty data completes the body: padding and the end may follow, data may not', () => {
  const whole = [record('head'), record('data', 1), record('data')]
  const kinds = read(
    { parts: [...whole, new Uint8Array(4)], last: false },
    { parts: [new Uint8Array(9)], last: false },
    { parts: [record('end')], last: true },
  ).map(({ kind }) => kind)
  expect(kinds).toEqual(['head', 'data', 'data', 'end'])
  refused({ parts: [...whole, record('data', 2)], last: false })
  refused({ parts: whole, last: false }, { parts: [record('data')], last: false })
})

test('a frame has at most one data record with bytes', () => {
  refused({ parts: [record('head'), record('data', 1), record('data', 2)], last: false })
  const apart = read(
    { parts: [record('head'), record('data', 1)], last: false },
    { parts: [record('data', 2), record('data'), record('end')], last: true },
  )
  expect(apart).toHaveLength(5)
})

test('the end record must be in the last frame, and only there', () => {
  refused({ parts: [record('head'), record('end')], last: false })
  refused({ parts: [record('head'), record('data', 1)], last: true })
})

test('a record that is of an unknown kind, truncated or too long for its frame is refused', () => {
  refused({ parts: [record('head'), Uint8Array.of(4, 0, 0, 0, 0)], last: false })
  const unknown = { parts: [record('head'), Uint8Array.of(255, 0, 0, 0, 0)], last: false }
  expect(() => read(unknown)).toThrow('unknown record kind')
  refused({ parts: [record('head'), Uint8Array.of(2, 0, 0)], last: false })
  refused({ parts: [record('head'), Uint8Array.of(2, 0, 0, 0, 5, 1)], last: false })
})

test('padding that is not zero is refused', () => {
  refused({ parts: [record('head'), Uint8Array.of(0, 0, 1)], last: false })
  const head = record('head')
  // At any position, wherever the frame begins in memory, and whatever surrounds it.
  for (let start = 0; start < 4; start++) {
    for (const length of [0, 1, 15, 16, 17, 36]) {
      const memory = new Uint8Array(start + head.length + length + 3).fill(255)
      const plaintext = memory.subarray(start, start + head.length + length)
      plaintext.fill(0).set(head)
      const readFrame = () => new RecordReader().read({ plaintext, last: false })
      expect(readFrame()).toHaveLength(1)
      for (let at = 1; at < length; at++) {
        plaintext[head.length + at] = 0x80 >> (at % 8)
        expect(readFrame).toThrow('padding is not zero')
        plaintext[head.length + at] = 0
      }
    }
  }
})
