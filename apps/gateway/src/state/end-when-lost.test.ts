import { expect, test } from 'bun:test'
import { createLog } from '@privatemode/service'
import { GatewayError } from '../gateway-error.ts'
import { endWhenLost } from './end-when-lost.ts'

test('a gateway that loses its database logs why and exits with 1', () => {
  const seen: (string | number)[] = []
  const log = createLog({ format: 'text', level: 0, write: (lines) => seen.push(lines) })
  const lost = new GatewayError('database_failed', 'the embedded database failed: out of memory')
  endWhenLost(log, (code) => seen.push(code))(lost)
  const [line, code] = seen
  expect(line).toContain('level=ERROR msg="embedded database failed; exiting"')
  expect(line).toContain('the embedded database failed: out of memory')
  expect(code).toBe(1) // after the line was written
})
