import { expect, test } from 'bun:test'
import { MessageError } from './message-error.ts'
import { parseResponseHead } from './response-head.ts'

test('a status line and its fields are parsed', () => {
  const head = parseResponseHead('HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: Close\r\n')
  expect(head).toMatchObject({ status: 200, framing: 3, keepAlive: false })
  expect(parseResponseHead('HTTP/1.1 204\r\n').framing).toBe(0)
  expect(parseResponseHead('HTTP/1.1 304 \r\ncontent-length: 9\r\n').framing).toBe(0)
  expect(parseResponseHead('HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n').framing).toBe(
    'chunked',
  )
})

test('a malformed status line is refused', () => {
  for (const line of [
    'HTTP/1.0 200 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 600 OK',
    'HTTP/1.1  200 OK',
    'http/1.1 200 OK',
    'HTTP/1.1 200 O\0K',
    'xHTTP/1.1 200 OK',
  ]) {
    expect(() => parseResponseHead(`${line}\r\ncontent-length: 0\r\n`)).toThrow(MessageError)
  }
})

test('an answer delimited by connection close is refused: a truncated one would look complete', () => {
  expect(() => parseResponseHead('HTTP/1.1 200 OK\r\ncontent-type: a\r\n')).toThrow(MessageError)
})
