/** Heads of answers that are not relayed. */
import { expect, test } from 'bun:test'
import { formatHead } from './serve-request.ts'

test.each([
  [200, 'OK'],
  [404, 'Not Found'],
  [429, 'Too Many Requests'],
  [503, 'Service Unavailable'],
] as const)('status %i has its usual reason phrase', (status, reason) => {
  const head = formatHead(new Response(null, { status }))
  expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status} ${reason}`)
})
