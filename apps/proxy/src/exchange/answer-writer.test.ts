import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import type { ByteRange } from '@privatemode/http'
import { type AnswerParts, createWholeWriter } from './answer-writer.ts'

function countPieces(): number {
  Bun.gc(true)
  const { Uint8Array: views = 0, Buffer: buffers = 0 } = heapStats().objectTypeCounts
  return views + buffers
}

test('an answer in many short pieces is stored in few', () => {
  const exchange = { begin: () => {}, finish: () => {} }
  const record = { sent: () => {}, status: 200 }
  const writer = createWholeWriter({
    app: {},
    exchange,
    record,
    headers: {},
  } as unknown as AnswerParts)
  const before = countPieces()
  for (let i = 0; i < 50_000; i++) writer.write([new Uint8Array(1)], 0)
  expect(countPieces() - before).toBeLessThan(10_000)
  writer.end([], 0)
})

test.each([
  ['frees the frames of an answer that is sent', true, 0],
  ['keeps the frames of an answer that waits for a slow client', false, 8192],
])('%s', (_, isSent, leftBytes) => {
  const frame = Buffer.alloc(8192, 'x')
  const sent: string[] = []
  const exchange = {
    begin(_head: string, { bytes, start, end }: ByteRange) {
      sent.push(bytes.toString('latin1', start, end))
      return isSent
    },
    finish: () => {},
  }
  const record = { sent: () => {}, status: 200 }
  const parts = { app: {}, exchange, record, headers: {} }
  createWholeWriter(parts as unknown as AnswerParts).end([frame.subarray(100, 200)], 8192)
  expect(sent).toEqual(['x'.repeat(100)])
  expect(frame.buffer.byteLength).toBe(leftBytes)
})
