import { expect, test } from 'bun:test'
import { ConnectionRecorder, type SeenExchange } from './record-exchange.ts'

const request = (id: string, body: string) =>
  Buffer.from(
    `POST /privatemode/v1/sealed HTTP/1.1\r\nPrivatemode-Request-Id: ${id}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
const responseHead = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')

function frame(length: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(length)
  header[4] = isLast ? 1 : 0
  return Buffer.concat([header, Buffer.alloc(length, 7)])
}

const chunk = (...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])
}

function recorder() {
  const seen: SeenExchange[] = []
  return { seen, connection: new ConnectionRecorder((exchange) => seen.push(exchange)) }
}

test('an exchange is seen as its request, and the time and length of every frame', () => {
  const { seen, connection } = recorder()
  connection.up(request('ab12', 'x'.repeat(500)), 1000)
  connection.down(Buffer.concat([responseHead, chunk(Buffer.alloc(52), frame(30, false))]), 1010)
  connection.down(chunk(frame(40, false), frame(41, false)), 1035)
  connection.down(chunk(frame(90, true)), 1060)
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({ requestId: 'ab12', requestLength: 500 })
  expect(seen[0]?.frames).toEqual([
    [10, 30],
    [35, 40],
    [35, 41],
    [60, 90],
  ])
  expect(seen[0]?.packets.map(([at]) => at)).toEqual([10, 35, 60])
})

test('frames are found however the bytes are cut on their way', () => {
  const answer = Buffer.concat([
    responseHead,
    chunk(Buffer.alloc(52), frame(30, false)),
    chunk(frame(300, false)),
    chunk(frame(70, true)),
  ])
  const { seen, connection } = recorder()
  const asked = request('cd', 'body')
  for (const byte of asked) connection.up(Buffer.of(byte), 0)
  for (const byte of answer) connection.down(Buffer.of(byte), 5)
  expect(seen[0]?.frames.map(([, length]) => length)).toEqual([30, 300, 70])
  // It is over with its last frame; the end of the chunk comes after.
  expect(seen[0]?.downBytes).toBe(answer.length - 2)
  expect(seen[0]?.upBytes).toBe(asked.length)
})

test('exchanges on one connection are told apart, and other requests are not recorded', () => {
  const { seen, connection } = recorder()
  const answer = Buffer.concat([responseHead, chunk(Buffer.alloc(52), frame(30, true))])
  connection.up(Buffer.from('GET /privatemode/v1/directory HTTP/1.1\r\n\r\n'), 0)
  connection.down(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'), 1)
  for (const id of ['01', '02']) {
    connection.up(request(id, 'abc'), 100)
    connection.down(answer, 120)
    connection.down(Buffer.from('0\r\n\r\n'), 121)
  }
  expect(seen.map(({ requestId }) => requestId)).toEqual(['01', '02'])
  expect(seen.every(({ frames }) => frames.length === 1)).toBe(true)
})

test('an exchange that is cut off is given as far as it came', () => {
  const { seen, connection } = recorder()
  connection.up(request('ef', 'abc'), 0)
  connection.down(Buffer.concat([responseHead, chunk(Buffer.alloc(52), frame(30, false))]), 3)
  connection.close(5)
  expect(seen[0]).toMatchObject({ frames: [[3, 30]], cutMs: 5 })
})
