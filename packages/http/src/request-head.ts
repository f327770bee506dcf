/** The request line and the fields of a request (RFC 9112, 3). */
import { type Fields, hasToken, parseFields, readFraming } from './head-fields.ts'
import { MessageError } from './message-error.ts'

export type RequestHead = {
  readonly method: string
  /** Path and query as received, starting with `/`. */
  readonly target: string
  readonly fields: Fields
  /** Body length in bytes, or chunked. */
  readonly framing: number | 'chunked'
  readonly minorVersion: 0 | 1
  readonly keepAlive: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean
}

export const maxHeadBytes = 16 * 1024

const emptyLine = Buffer.from('\r\n\r\n')
/** The first byte of a TLS connection: a handshake record (RFC 8446, 5.1). */
const tlsHandshake = 0x16
const methodShape = /^[A-Z]{1,16}$/
const targetShape = /^\/[\x21\x22\x24-\x7e]{0,8191}$/

/**
 * The text of a head in Latin-1, including the line break of its last line; undefined if more input
 * is needed. The head is two bytes longer than the text: those of the empty line.
 */
export function readHeadText(bytes: Buffer): string | undefined {
  // A TLS client waits for the server's handshake, so it must be refused immediately.
  if (bytes[0] === tlsHandshake) {
    throw new MessageError(400, 'this port speaks plain HTTP, not TLS: use http:// in the address')
  }
  const end = bytes.indexOf(emptyLine)
  // Only the head is decoded: with the body, the text would be several times as long.
  if (end >= 0 && end + 4 <= maxHeadBytes) return bytes.toString('latin1', 0, end + 2)
  if (bytes.length < maxHeadBytes) return undefined
  throw new MessageError(431, `the head of a message has at most ${maxHeadBytes} bytes`)
}

/** Parses a complete head, as returned by `readHeadText`. */
export function parseRequestHead(text: string): RequestHead {
  const lineEnd = text.indexOf('\r\n')
  const firstSpace = text.indexOf(' ')
  const lastSpace = text.lastIndexOf(' ', lineEnd)
  const method = text.slice(0, firstSpace)
  const target = text.slice(firstSpace + 1, lastSpace)
  if (firstSpace < 0 || firstSpace >= lastSpace || !methodShape.test(method)) {
    throw new MessageError(400, 'the request line is malformed')
  }
  const minorVersion = readVersion(text.slice(lastSpace + 1, lineEnd))
  if (!targetShape.test(target)) throw new MessageError(400, 'the request line is malformed')
  const fields = parseFields(text, lineEnd + 2)
  if (minorVersion === 1 && fields.get('host') === undefined) {
    throw new MessageError(400, 'host is missing')
  }
  const framing = readFraming(fields) ?? 0
  if (framing === 'chunked' && minorVersion === 0) {
    throw new MessageError(400, 'HTTP/1.0 has no transfer-encoding')
  }
  const connection = fields.get('connection')
  const expect = fields.get('expect')
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new MessageError(417, 'the only supported expectation is 100-continue')
  }
  return {
    method,
    target,
    fields,
    framing,
    minorVersion,
    keepAlive: minorVersion === 1 && !hasToken(connection, 'close'),
    expectsContinue: expect !== undefined && minorVersion === 1,
  }
}

function readVersion(text: string): 0 | 1 {
  if (text === 'HTTP/1.1') return 1
  if (text === 'HTTP/1.0') return 0
  throw /^HTTP\/\d/.test(text)
    ? new MessageError(505, 'only HTTP/1.1 is supported')
    : new MessageError(400, 'the request line is malformed')
}
