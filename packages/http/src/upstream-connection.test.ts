/** One upstream connection without a network: which answers it accepts, and how long it waits. */
import { expect, test } from 'bun:test'
import { type ByteRange, viewOf } from './byte-range.ts'
import { type Unanswered, UpstreamConnection } from './upstream-connection.ts'

/** A connection that has sent a request, and a record of what happens to it. */
function ask(deadlineMs = 1000, passesThrough = false) {
  const seen: string[] = []
  const socket = {
    ...{ pause: () => {}, resume: () => {}, terminate: () => void seen.push('closed') },
    write: (bytes: Uint8Array, _from: number, length = bytes.length) => length,
  }
  const stale: Unanswered[] = []
  const owner = {
    tick: 0,
    released: () => void seen.push('free'),
    unheard: () => {},
    stale: (_: UpstreamConnection, unanswered: Unanswered) => stale.push(unanswered) > 0,
    closed: () => {},
  }
  const connection = new UpstreamConnection('http://a.test', socket as never, owner)
  const text = (body: readonly ByteRange[]) => body.map((range) => viewOf(range)).join('')
  const send = (lengthBytes = 0) =>
    connection.send(
      {
        head: 'POST / HTTP/1.1\r\n\r\n',
        body: { bytes: Buffer.alloc(0), start: 0, end: 0 },
        lengthBytes,
      },
      {
        head: (head, body, ended) =>
          void seen.push(`${head.status}${text(body)}${ended ? ' whole' : ''}`),
        data: (body, ended) => void seen.push(`${text(body)}${ended ? ' whole' : ''}`),
        fail: (failure) => void seen.push(failure),
        passesThrough: () => passesThrough,
      },
      deadlineMs,
    )
  send()
  const say = (text: string) => connection.data(Buffer.from(text))
  return { connection, seen, stale, send, say }
}

const counted = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n'
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

test.each([
  ['of a given length', counted, 'abc'],
  ['in chunks', `${chunked}3\r\n`, 'abc\r\n0\r\n\r\n'],
])('an answer %s ends where it says', (_, head, rest) => {
  const { seen, say } = ask()
  say(head)
  say(rest)
  expect(seen.at(-2)).toBe('free')
  expect(seen.at(-1)).toEndWith('whole')
})

test.each([
  ['more than it announced', [`${counted}abcd`], ['closed', 'broken']],
  ['more than it announced, in a later packet', [counted, 'abc+'], ['200', 'closed', 'broken']],
  ['bytes after the last chunk', [`${chunked}0\r\n\r\n+`], ['closed', 'broken']],
  [
    'bytes after the last chunk, in a later packet',
    [chunked, '0\r\n\r\n+'],
    ['200', 'closed', 'broken'],
  ],
])('a server that sends %s is disconnected', (_, words, expected) => {
  const { seen, say } = ask()
  for (const word of words) say(word)
  expect(seen).toEqual(expected)
})

test('a server that sends data unasked is disconnected', () => {
  const { seen, say } = ask()
  say(`${counted}abc`)
  say('HTTP/1.1 200 OK\r\n')
  expect(seen).toEqual(['free', '200abc whole', 'closed'])
})

test('a request without a first byte by the deadline is aborted', () => {
  const { connection, seen } = ask(1000)
  connection.sweep(1000, 50, 10)
  expect(seen).toEqual([])
  connection.sweep(1001, 50, 10)
  expect(seen).toEqual(['closed', 'timeout'])
  connection.sweep(1002, 51, 10)
  expect(seen).toHaveLength(2)
})

test('an answer that stalls is aborted, unless it is not being read', () => {
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

test('a sink gets the bare payload, or the framed body if it forwards the answer', () => {
  const answer = [`${chunked}3\r\nab`, 'c\r\n2\r\nde\r\n0\r\n\r\n']
  const payload = ask()
  for (const text of answer) payload.say(text)
  expect(payload.seen).toEqual(['200ab', 'free', 'cde whole'])
  const framed = ask(1000, true)
  for (const text of answer) framed.say(text)
  expect(framed.seen).toEqual(['2003\r\nab', 'free', `${answer[1]} whole`])
})

test('a request that meets a closed reused connection is handed back, if its whole body is here', () => {
  const fresh = ask()
  fresh.connection.closed()
  expect([fresh.stale.length, fresh.seen]).toEqual([0, ['unreachable']])
  const used = ask()
  used.say(`${counted}abc`)
  used.send()
  used.connection.closed()
  expect([used.stale.length, used.seen.slice(2)]).toEqual([1, []])
  const partial = ask()
  partial.say(`${counted}abc`)
  partial.send(7)
  partial.connection.closed()
  expect([partial.stale.length, partial.seen.slice(2)]).toEqual([0, ['unreachable']])
  const begun = ask()
  begun.say(`${counted}abc`)
  begun.send()
  begun.say('HTTP/1.1 200')
  begun.connection.closed()
  expect([begun.stale.length, begun.seen.slice(2)]).toEqual([0, ['broken']])
})
