import { expect, test } from 'bun:test'
import { type ExchangeHost, HttpExchange } from './http-exchange.ts'
import { RequestBody } from './request-body.ts'
import { parseRequestHead } from './request-head.ts'
import { SocketWriter } from './socket-writer.ts'

function begin(version: '1.0' | '1.1') {
  const writes: string[] = []
  const write = (bytes: Uint8Array, from = 0, length = bytes.length) => {
    writes.push(Buffer.from(bytes.subarray(from, from + length)).toString('latin1'))
    return length
  }
  const host: ExchangeHost = {
    writer: new SocketWriter({ write } as unknown as ConstructorParameters<typeof SocketWriter>[0]),
    address: '',
    stopping: false,
    completed: () => {},
    cut: () => {},
  }
  const head = parseRequestHead(`GET / HTTP/${version}\r\nhost: h\r\n`)
  return { writes, exchange: new HttpExchange(host, head, new RequestBody(0, () => {})) }
}

const pieces = ['one', 'two'].map((text) => Buffer.from(text))
const status = 'HTTP/1.1 200 OK\r\n'

test('an answer without a length starts in one write with its first chunk', () => {
  const { writes, exchange } = begin('1.1')
  exchange.beginChunks(status, pieces)
  exchange.writeChunk(pieces)
  exchange.endChunks()
  expect(writes[0]).toMatch(
    /^HTTP\/1\.1 200 OK\r\ntransfer-encoding: chunked\r\ndate: [^\r]+\r\n\r\n6\r\nonetwo\r\n$/,
  )
  expect(writes.slice(1).join('')).toBe('6\r\nonetwo\r\n0\r\n\r\n')
})

test('without a first chunk the head is sent alone, since an empty chunk would end the body', () => {
  const { writes, exchange } = begin('1.1')
  exchange.beginChunks(status, [])
  expect(writes).toHaveLength(1)
  expect(writes[0]).toEndWith('\r\n\r\n')
  expect(writes[0]).not.toContain('0\r\n\r\n')
  expect(exchange.begun).toBe(true)
})

test.each([
  ['1.1', '6\r\nonetwo\r\n0\r\n\r\n'],
  ['1.0', 'onetwo'],
] as const)(
  'in HTTP/%s the last bytes and the end of the transfer are one write',
  (version, last) => {
    const { writes, exchange } = begin(version)
    exchange.beginChunks(status, pieces)
    exchange.endChunks(pieces)
    expect(writes.slice(1)).toEqual([last])
    expect(exchange.over).toBe(true)
  },
)

test('HTTP/1.0 clients get bare bytes, then the connection closes', () => {
  const { writes, exchange } = begin('1.0')
  exchange.beginChunks(status, pieces)
  expect(writes[0]).toMatch(
    /^HTTP\/1\.1 200 OK\r\ndate: [^\r]+\r\nconnection: close\r\n\r\nonetwo$/,
  )
})
