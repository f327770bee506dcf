/** The status line and header lines of a response of ours. */
import { reasonOf } from '@privatemode/http'

/** Every line ends with CRLF; body framing is appended later. */
export function formatResponseHead(
  status: number,
  headers: Readonly<Record<string, string>>,
): string {
  let head = `HTTP/1.1 ${status} ${reasonOf(status)}\r\n`
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`
  return head
}
