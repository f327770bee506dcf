/** The first line and the fields of a request (RFC 9112, 3). */
import { type Fields, hasToken, parseFields, readFraming } from './head-fields.ts'
import { MessageError } from './message-error.ts'

export type RequestHead = {
  readonly method: string
  /** Path and query as they came, starting with `/`. */
  readonly target: string
  readonly fields: Fields
  /** Bytes of the body, or chunked. */
  readonly framing: number | 'chunked'
  readonly minorVersion: 0 | 1
  readonly keepAlive: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean
}

export const maxHeadBytes = 16 * 1024

const requestLine = /([A-Z]{1,16}) (\/[\x21\x22\x24-\x7e]{0,8191}) HTTP\/1\.([01])\r\n/y

/** The index after the empty line that ends a head, or -1 if more must come. */
export function findHeadEnd(bytes: Buffer, from = 0): number {
  const at = bytes.indexOf('\r\n\r\n', from, 'latin1')
  const end = at < 0 ? -1 : at + 4
  if ((end < 0 ? bytes.length : end) > maxHeadBytes) {
    throw new MessageError(431, `the head of a request has at most ${maxHeadBytes} bytes`)
  }
  return end
}

/** Reads a whole head, `end` being what `findHeadEnd` gave. */
export function parseRequestHead(bytes: Buffer, end: number): RequestHead {
  const text = bytes.toString('latin1', 0, end - 2)
  requestLine.lastIndex = 0
  const line = requestLine.exec(text)
  if (line === null) throw refuseLine(text)
  const minorVersion = line[3] === '1' ? 1 : 0
  const fields = parseFields(text, requestLine.lastIndex)
  if (minorVersion === 1 && fields.get('host') === undefined)
    throw new MessageError(400, 'host is missing')
  const framing = readFraming(fields) ?? 0
  if (framing === 'chunked' && minorVersion === 0) {
    throw new MessageError(400, 'HTTP/1.0 has no transfer-encoding')
  }
  const connection = fields.get('connection')
  const expect = fields.get('expect')
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new MessageError(417, 'the only expectation is 100-continue')
  }
  return {
    method: line[1] ?? '',
    target: line[2] ?? '',
    fields,
    framing,
    minorVersion,
    keepAlive: minorVersion === 1 && !hasToken(connection, 'close'),
    expectsContinue: expect !== undefined && minorVersion === 1,
  }
}

function refuseLine(text: string): MessageError {
  const line = text.slice(0, text.indexOf('\r\n'))
  return / HTTP\/[02-9]/.test(line)
    ? new MessageError(505, 'only HTTP/1.1 is spoken here')
    : new MessageError(400, 'the request line is malformed')
}
