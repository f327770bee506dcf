import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
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
