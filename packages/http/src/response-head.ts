/** The status line and the fields of an answer (RFC 9112, 4). */
import { type Fields, hasToken, parseFields, readFraming } from './head-fields.ts'
import { MessageError } from './message-error.ts'

export type ResponseHead = {
  readonly status: number
  readonly fields: Fields
  readonly framing: number | 'chunked'
  readonly keepAlive: boolean
}

const statusLine = /HTTP\/1\.1 [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/y

/** Parses a complete head from `readHeadText`; refuses answers delimited by connection close. */
export function parseResponseHead(text: string): ResponseHead {
  statusLine.lastIndex = 0
  if (!statusLine.test(text)) throw new MessageError(502, 'the status line is malformed')
  const status = Number(text.slice(9, 12))
  const fields = parseFields(text, statusLine.lastIndex)
  const framing = status === 204 || status === 304 || status < 200 ? 0 : readFraming(fields)
  if (framing === undefined) throw new MessageError(502, 'the answer has no length')
  return { status, fields, framing, keepAlive: !hasToken(fields.get('connection'), 'close') }
}
