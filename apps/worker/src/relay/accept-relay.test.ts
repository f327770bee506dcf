/** What a worker accepts as relayed by its gateway, and what it refuses. */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { type RelayedRequest, relayHeaders, relayText } from '@privatemode/protocol/fleet'
import { RelayGuard } from './accept-relay.ts'
import { RelayKeys } from './relay-keys.ts'

const hourMs = 3_600_000
const sentAtMs = Date.UTC(2026, 0, 1)

const request: RelayedRequest = {
  workerId: 'w_1',
  requestId: '0f'.repeat(16),
  model: 'org/chat-1',
  path: '/v1/chat/completions',
  keyRef: 'key_1',
  admission: 'ab'.repeat(32),
  sentAtMs,
  lengthBytes: 1234,
}

function headersOf(relayed: RelayedRequest, key: Uint8Array): Headers {
  const mac = createHmac('sha256', key).update(relayText(relayed)).digest('base64url')
  return new Headers({
    [relayHeaders.requestId]: relayed.requestId,
    [relayHeaders.model]: relayed.model,
    [relayHeaders.path]: relayed.path,
    [relayHeaders.keyRef]: relayed.keyRef,
    [relayHeaders.admission]: relayed.admission,
    [relayHeaders.sentAt]: String(relayed.sentAtMs),
    'content-length': String(relayed.lengthBytes),
    [relayHeaders.mac]: mac,
  })
}

function setUp() {
  const clock = { nowMs: sentAtMs, monotonicMs: 0 }
  const keys = new RelayKeys(() => clock.monotonicMs)
  const guard = new RelayGuard('w_1', keys, () => new Date(clock.nowMs))
  const codeOf = (headers: Headers) => {
    try {
      guard.accept(headers)
      return 'accepted'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  return { clock, keys, guard, codeOf }
}

test("a relay under the worker's registered key is accepted, and its fields are believed", () => {
  const { guard, keys } = setUp()
  const { requestId, model, path, keyRef, admission } = request
  expect(guard.accept(headersOf(request, keys.current()))).toEqual({
    ...{ requestId, model, path, keyRef, admission },
  })
})

test('a relay without a MAC, or with one under another key or for another worker, is refused', () => {
  const { codeOf, keys } = setUp()
  const bare = headersOf(request, keys.current())
  bare.delete(relayHeaders.mac)
  expect(codeOf(bare)).toBe('permission_denied')
  expect(codeOf(headersOf(request, new Uint8Array(32)))).toBe('permission_denied')
  const other = headersOf({ ...request, workerId: 'w_2' }, keys.current())
  expect(codeOf(other)).toBe('permission_denied')
  expect(codeOf(new Headers())).toBe('permission_denied')
})

test.each([
  [relayHeaders.requestId, 'f0'.repeat(16)],
  [relayHeaders.model, 'org/chat-2'],
  [relayHeaders.path, '/v1/embeddings'],
  [relayHeaders.keyRef, 'key_2'],
  [relayHeaders.admission, 'ba'.repeat(32)],
  [relayHeaders.sentAt, String(sentAtMs + 1)],
  ['content-length', '1235'],
])('a relay with a modified %s is refused', (name, value) => {
  const { codeOf, keys } = setUp()
  const headers = headersOf(request, keys.current())
  headers.set(name, value)
  expect(codeOf(headers)).toBe('permission_denied')
})

test('a relay is accepted only once and only while it is fresh', () => {
  const { clock, codeOf, keys } = setUp()
  const key = keys.current()
  expect(codeOf(headersOf(request, key))).toBe('accepted')
  expect(codeOf(headersOf(request, key))).toBe('replayed')
  // The same request relayed again is a new relay; the replay inside the seal is refused later.
  expect(codeOf(headersOf({ ...request, sentAtMs: sentAtMs + 1 }, key))).toBe('accepted')
  clock.nowMs += 121_000
  expect(codeOf(headersOf(request, key))).toBe('permission_denied')
  const early = { ...request, sentAtMs: clock.nowMs + 61_000 }
  expect(codeOf(headersOf(early, key))).toBe('permission_denied')
})

test('the key is replaced every hour, and the previous one works until the next', () => {
  const { clock, codeOf, keys } = setUp()
  const first = keys.current()
  clock.monotonicMs += hourMs
  const second = keys.current()
  expect(Buffer.compare(first, second)).not.toBe(0)
  expect(codeOf(headersOf(request, first))).toBe('accepted')
  expect(codeOf(headersOf(request, second))).toBe('accepted')
  clock.monotonicMs += hourMs
  keys.current()
  expect(codeOf(headersOf({ ...request, sentAtMs: sentAtMs + 1 }, first))).toBe('permission_denied')
})
