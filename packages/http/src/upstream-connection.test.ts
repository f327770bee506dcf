/** One connection to a server, without a network: what it takes for an answer, and how long it waits. */
import { expect, test } from 'bun:test'
import { UpstreamConnection } from './upstream-connection.ts'

/** A connection that has sent a request; what becomes of it is written down. */
function ask(deadlineMs = 1000) {
  const seen: string[] = []
  const socket = {
    ...{ pause: () => {}, resume: () => {}, terminate: () => void seen.push('closed') },
    write: (bytes: Uint8Array, _from: number, length = bytes.length) => length,
  }
  const owner = { released: () => void seen.push('free'), unheard: () => {}, closed: () => {} }
  const connection = new UpstreamConnection('http://a.test', socket as never, owner)
  const body = { bytes: Buffer.alloc(0), start: 0, end: 0 }
  connection.send(
    { head: 'GET / HTTP/1.1\r\n\r\n', body, lengthBytes: 0 },
    {
      head: (head, _first, ended) => void seen.push(`${head.status}${ended ? ' whole' : ''}`),
      data: (bytes, ended) => void seen.push(`${bytes}${ended ? ' whole' : ''}`),
      fail: (failure) => void seen.push(failure),
    },
    deadlineMs,
  )
  return { connection, seen, say: (text: string) => connection.data(Buffer.from(text), 0) }
}

const counted = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n'
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

test.each([counted, `${chunked}3\r\n`])('an answer ends where it says, %#', (head) => {
  const { seen, say } = ask()
  say(head)
  say(head === counted ? 'abc' : 'abc\r\n0\r\n\r\n')
  expect(seen.at(-2)).toBe('free')
  expect(seen.at(-1)).toEndWith('whole')
})

test.each([
  ['more than it announced', [`${counted}abcd`], ['closed', 'broken']],
  ['more than it announced, later', [counted, 'abc+'], ['200', 'closed', 'broken']],
  ['something behind the last chunk', [`${chunked}0\r\n\r\n+`], ['closed', 'broken']],
  ['the same, later', [chunked, '0\r\n\r\n+'], ['200', 'closed', 'broken']],
])('a server that says %s is cut, and its connection not used again', (_, words, expected) => {
  const { seen, say } = ask()
  for (const word of words) say(word)
  expect(seen).toEqual(expected)
})

test('who speaks unasked is cut', () => {
  const { seen, say } = ask()
  say(`${counted}abc`)
  say('HTTP/1.1 200 OK\r\n')
  expect(seen).toEqual(['free', '200 whole', 'closed'])
})

test('a server that has not begun to answer by the deadline is given up', () => {
  const { connection, seen } = ask(1000)
  connection.sweep(1000, 50, 10)
  expect(seen).toEqual([])
  connection.sweep(1001, 50, 10)
  expect(seen).toEqual(['closed', 'timeout'])
  connection.sweep(1002, 51, 10)
  expect(seen).toHaveLength(2)
})

test('one that falls silent in its answer is given up, unless it is not being read', () => {
  const { connection, seen, say } = ask(1000)
  say(counted)
  connection.sweep(5000, 10, 10)
  connection.pause()
  connection.sweep(5000, 11, 10)
  expect(seen).toEqual(['200'])
  connection.resume()
  connection.sweep(5000, 11, 10)
  expect(seen).toEqual(['200', 'closed', 'broken'])
})
