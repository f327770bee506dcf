import { expect, test } from 'bun:test'
import { ForwardedAnswer, type ForwardOwner } from './forwarded-answer.ts'
import type { HttpExchange } from './http-exchange.ts'
import { parseResponseHead } from './response-head.ts'

const head = parseResponseHead('HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n')
const owner: ForwardOwner = {
  accept: () => 'HTTP/1.1 200 OK\r\n',
  ...{ begun: () => {}, ended: () => {}, refused: () => {}, failed: () => {} },
}
const pieceOf = (bytes: Buffer) => [{ bytes, start: 0, end: bytes.length }]

test.each([
  ['a piece that was sent is freed', true, 0],
  ['a piece that waits for a slow client is kept', false, 3000],
])('%s', (_, isSent, leftBytes) => {
  const exchange = { begin: () => isSent, write: () => isSent, whenDrained: () => {} }
  const answer = new ForwardedAnswer(exchange as unknown as HttpExchange, owner)
  expect(answer.passesThrough(head)).toBe(true)
  const [first, second] = [Buffer.alloc(3000), Buffer.alloc(3000)]
  answer.head(head, pieceOf(first), false)
  answer.data(pieceOf(second), false)
  expect([first.length, second.length]).toEqual([leftBytes, leftBytes])
})
