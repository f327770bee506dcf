import { expect, test } from 'bun:test'
import { freePorts } from './free-ports.ts'

test('free ports are distinct, outside the ephemeral range, and can be listened on', () => {
  const ports = freePorts(20)
  expect(new Set(ports).size).toBe(20)
  for (const port of ports) {
    expect(port).toBeWithin(12_000, 32_768)
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
  }
})
