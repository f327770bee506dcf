import { describe, expect, test } from 'bun:test'
import { callOf, chat, closeAfterEach, connect } from '../testing/connected-engine.ts'
import { randomServerSalt, serverSalt } from './server-salt.ts'

closeAfterEach()

/** Salts that a server would refuse, log or confuse if sent unmodified. */
const hostileSalts = [
  `${'+/'.repeat(21)}==`,
  '@'.repeat(32),
  '\\'.repeat(40),
  '\0'.repeat(64),
  'x'.repeat(1024),
  '🧂'.repeat(512),
  '\ud800'.repeat(32),
  `${'\ud800'.repeat(31)}\ud801`,
  `${'\ud800'.repeat(31)}\ufffd`,
  `${' '.repeat(31)}\n`,
]

describe('server salts', () => {
  test('are distinct 64 hex digits for every salt, whatever it contains', () => {
    const derived = hostileSalts.map(serverSalt)
    for (const salt of [...derived, randomServerSalt()]) expect(salt).toMatch(/^[0-9a-f]{64}$/)
    expect(new Set(derived).size).toBe(hostileSalts.length)
    expect(hostileSalts.map(serverSalt)).toEqual(derived)
  })

  test('are stable across releases: workers of one deployment share their caches', () => {
    const expected = '0af17f771248c6faa97b44833659463210a5b7f88ad960a696c46c033d32f6b1'
    expect(serverSalt('s'.repeat(44))).toBe(expected)
  })

  test('are all that a server sees of a caller, on every path', async () => {
    const { server, engine } = await connect({ native: ['messages', 'responses'] })
    for (const cache_salt of hostileSalts) {
      server.requests.length = 0
      const asChat = chat('a', { cache_salt })
      const bodies = { ...asChat, max_tokens: 5 }
      await engine.call(callOf(asChat))
      await engine.call(callOf({ ...bodies, prompt: 'a' }, { endpoint: 'completions' }))
      await engine.call(callOf({ ...bodies, input: 'a' }, { endpoint: 'embeddings' }))
      await engine.call(callOf(bodies, { endpoint: 'messages', asChat }))
      await engine.call(callOf({ ...bodies, input: 'a' }, { endpoint: 'responses', asChat }))
      await engine.countTokens(bodies)
      await engine.countTokens(bodies, 'messages')
      const seen = server.requests.map(({ body }) => body.cache_salt ?? serverSalt(cache_salt))
      expect(seen).toEqual(seen.map(() => serverSalt(cache_salt)))
      expect(seen.length).toBeGreaterThan(6)
    }
  })
})
