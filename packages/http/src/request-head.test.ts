import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { MessageError } from './message-error.ts'
import { maxHeadBytes, parseRequestHead, readHeadText } from './request-head.ts'

const parse = (text: string) => {
  const bytes = Buffer.from(text, 'latin1')
  const head = readHeadText(bytes)
  if (head === undefined) throw new Error('the head has no end')
  return parseRequestHead(head)
}
const statusOf = (text: string): number => {
  try {
    parse(text)
    return 200
  } catch (error) {
    if (error instanceof MessageError) return error.status
    throw error
  }
}
const withFields = (...lines: string[]) =>
  `POST /x?y=1 HTTP/1.1\r\n${['host: h', ...lines].map((line) => `${line}\r\n`).join('')}\r\n`

test('a plain request is read', () => {
  const head = parse(withFields('Content-Length: 12', 'X-Thing:  a b\t', 'expect: 100-Continue'))
  expect(head).toMatchObject({
    method: 'POST',
    target: '/x?y=1',
    framing: 12,
    minorVersion: 1,
    keepAlive: true,
    expectsContinue: true,
  })
  expect(head.fields.get('x-thing')).toBe('a b')
})

test('ambiguous heads that enable request smuggling are refused', () => {
  expect(statusOf(withFields('content-length: 1', 'content-length: 1'))).toBe(400)
  expect(statusOf(withFields('content-length: 1', 'transfer-encoding: chunked'))).toBe(400)
  expect(statusOf(withFields('transfer-encoding: chunked', 'transfer-encoding: chunked'))).toBe(400)
  expect(statusOf(withFields('transfer-encoding: gzip, chunked'))).toBe(501)
  expect(statusOf(withFields('transfer-encoding: xchunked'))).toBe(501)
  for (const length of ['+1', '-1', '1e3', '0x10', '1,1', '1 1', '', '9'.repeat(16)]) {
    expect(statusOf(withFields(`content-length: ${length}`))).toBe(400)
  }
  expect(statusOf(withFields('content-length : 1'))).toBe(400)
  expect(statusOf(withFields('content-length: 1\t'))).toBe(400)
  expect(statusOf(withFields('transfer-encoding:\tchunked'))).toBe(400)
  expect(statusOf(withFields(' folded'))).toBe(400)
  expect(statusOf(withFields('x: a\nb: c'))).toBe(400)
  expect(statusOf(withFields('x: a\rb'))).toBe(400)
  expect(statusOf(withFields('x: a\0b'))).toBe(400)
  // Two bytes that are not a line end must not pass for one.
  for (const end of ['\0\0', '\n\n', '\r\r', '\n\r']) {
    expect(statusOf(withFields(`x: a${end}b: c`))).toBe(400)
  }
  expect(statusOf(withFields('x'))).toBe(400)
  expect(statusOf(withFields(': x'))).toBe(400)
})

test('duplicates of fields that must be unique are refused', () => {
  expect(statusOf(withFields('host: other'))).toBe(400)
  expect(statusOf(withFields('authorization: a', 'Authorization: b'))).toBe(400)
  expect(statusOf(withFields('privatemode-model: a', 'privatemode-model: b'))).toBe(400)
})

test('other repeated fields are joined as lists', () => {
  const { fields } = parse(withFields('accept: a', 'Accept: b', 'cookie: c=1', 'cookie: d=2'))
  expect(fields.get('accept')).toBe('a, b')
  expect(fields.get('cookie')).toBe('c=1; d=2')
})

test('odd request lines are refused', () => {
  for (const line of [
    'get / HTTP/1.1',
    'GET  / HTTP/1.1',
    'GET http://h/ HTTP/1.1',
    'GET * HTTP/1.1',
    'GET / HTTP/1.1 ',
    'GET /a b HTTP/1.1',
    'GET /a#b HTTP/1.1',
    'GET /\t HTTP/1.1',
    'GET /\u00e4 HTTP/1.1',
    '',
  ]) {
    expect(statusOf(`${line}\r\nhost: h\r\n\r\n`)).toBe(400)
  }
  expect(statusOf('GET / HTTP/2.0\r\nhost: h\r\n\r\n')).toBe(505)
  expect(statusOf('GET / HTTP/1.1\r\n\r\n')).toBe(400)
  expect(statusOf('GET / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n')).toBe(400)
  expect(statusOf(withFields('expect: something'))).toBe(417)
})

test('a TLS handshake is refused at its first byte, since its client waits for an answer', () => {
  const clientHello = Buffer.from([0x16, 0x03, 0x01])
  expect(() => readHeadText(clientHello)).toThrow('use http://')
})

test('a head over the limits is refused', () => {
  expect(statusOf(withFields(`x: ${'a'.repeat(maxHeadBytes)}`))).toBe(431)
  expect(() => readHeadText(Buffer.alloc(maxHeadBytes, 'a'))).toThrow(MessageError)
  expect(readHeadText(Buffer.alloc(maxHeadBytes - 1, 'a'))).toBeUndefined()
  expect(statusOf(withFields(...Array.from({ length: 64 }, (_, i) => `x${i}: 1`)))).toBe(431)
})

test('any input is a head or refused, and a parsed head survives a round trip', () => {
  const piece = fc.constantFrom(
    'GET ',
    'POST ',
    '/',
    ' HTTP/1.1',
    '\r\n',
    '\n',
    '\r',
    ':',
    ' ',
    'host: h\r\n',
    '\r\n\r\n',
    'content-length: 5',
    'transfer-encoding: chunked',
    'x',
    '\0',
    '\u00ff',
    '\t',
    ',',
  )
  const line = fc.array(fc.oneof(piece, fc.string({ maxLength: 4 }))).map((parts) => parts.join(''))
  fc.assert(
    fc.property(line, (middle) => {
      const text = `POST /x HTTP/1.1\r\nhost: h\r\n${middle}\r\n\r\n`
      if (statusOf(text) !== 200) return
      const head = parse(text)
      const again = [...head.fields].map(([name, value]) => `${name}: ${value}\r\n`).join('')
      const second = parse(`${head.method} ${head.target} HTTP/1.1\r\n${again}\r\n`)
      expect([...second.fields]).toEqual([...head.fields])
      expect(second.framing).toBe(head.framing)
    }),
    { numRuns: 2000 },
  )
})
