import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { hashApiKey, issueApiKey, looksLikeApiKey } from './api-key.ts'
import { KeyCheck } from './key-check.ts'
import { changeKey, createKey, findKey, listKeys, revokeKey, rotateKey } from './key-store.ts'
import { writeLastUse } from './last-use.ts'
import { noLimits, parseLimits } from './limits.ts'

let database: Database
let nowMs = 0

beforeAll(async () => {
  database = await openTestDatabase()
})

afterAll(() => database.close())

const wish = { accountId: 'acct_default', name: 'test', expiresAt: null, limits: noLimits }
const newCheck = (over: Partial<ConstructorParameters<typeof KeyCheck>[0]> = {}) =>
  new KeyCheck({
    database,
    clock: () => nowMs,
    maxAgeMs: 1000,
    maxCached: 100,
    maxLookups: 10,
    ...over,
  })
const verdict = async (check: KeyCheck, secret: string | undefined) => {
  try {
    await check.check(secret)
    return 'good'
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a key has 256 random bits after a prefix, and no two are equal', () => {
  const keys = Array.from({ length: 1000 }, issueApiKey)
  expect(new Set(keys.map((key) => key.secret)).size).toBe(1000)
  for (const { secret, prefix } of keys.slice(0, 50)) {
    expect(looksLikeApiKey(secret)).toBe(true)
    expect(secret.startsWith(`${prefix}_`)).toBe(true)
    expect(62 ** (secret.length - prefix.length - 1)).toBeGreaterThan(2 ** 256)
  }
})

test('the database stores only the hash of a secret', async () => {
  const { secret, key } = await createKey(database, wish)
  const rows = await database.query('select * from api_keys where id = $1', [key.id])
  const text = JSON.stringify(rows, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  )
  expect(text).toContain(hashApiKey(secret))
  expect(text).not.toContain(secret.slice(key.prefix.length + 1))
})

test('a valid key is accepted, and malformed ones are refused without a query', async () => {
  const { secret, key } = await createKey(database, wish)
  const check = newCheck()
  expect(await check.check(secret)).toMatchObject({ keyId: key.id, accountId: 'acct_default' })
  const deaf = newCheck({ database: undefined as never })
  expect(() => deaf.check(undefined)).toThrow('no API key: send it as')
  expect(await verdict(deaf, 'sk-something')).toBe('invalid_api_key')
})

test('a key with one letter changed is refused', async () => {
  const { secret } = await createKey(database, wish)
  const changed = `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`
  expect(await verdict(newCheck(), changed)).toBe('invalid_api_key')
})

test('a cached answer is used up to its maximum age, then queried again', async () => {
  const { secret, key } = await createKey(database, wish)
  const check = newCheck()
  nowMs = 0
  expect(await verdict(check, secret)).toBe('good')
  await revokeKey(database, key.id)
  nowMs = 400
  expect(await verdict(check, secret)).toBe('good')
  nowMs = 1000
  expect(await verdict(check, secret)).toBe('invalid_api_key')
})

test('keys in use are looked up again in one query, so that no request waits', async () => {
  const used = await createKey(database, wish)
  const rotated = await createKey(database, wish)
  await rotateKey(database, rotated.key.id, 3600)
  let asked = 0
  const query: Database['query'] = (...given) => {
    asked++
    return database.query(...given)
  }
  const check = newCheck({ database: { ...database, query } })
  nowMs = 0
  for (const { secret } of [used, rotated]) await check.check(secret)
  for (nowMs = 500; nowMs < 10_000; nowMs += 500) {
    await check.refresh()
    for (const { secret } of [used, rotated])
      expect(check.check(secret)).not.toBeInstanceOf(Promise)
  }
  expect(asked).toBe(2 + 19)
  await revokeKey(database, used.key.id)
  await check.refresh()
  expect(await verdict(check, used.secret)).toBe('invalid_api_key')
  expect(await verdict(check, rotated.secret)).toBe('good')
  nowMs += 60_000
  await check.refresh() // no one has used them for a minute
  expect(asked).toBe(2 + 20)
})

test('keys that cannot be looked up again are used until their answers have aged', async () => {
  const { secret } = await createKey(database, wish)
  let fails = false
  const query: Database['query'] = (...given) =>
    fails ? Promise.reject(new Error('gone')) : database.query(...given)
  const check = newCheck({ database: { ...database, query } })
  nowMs = 0
  await check.check(secret)
  fails = true
  nowMs = 500
  await check.refresh()
  expect(await verdict(check, secret)).toBe('good')
  nowMs = 1000
  expect(await verdict(check, secret)).toBe('overloaded')
})

test('expired keys and keys of a disabled account are refused', async () => {
  const past = await createKey(database, wish)
  await changeKey(database, past.key.id, { expiresAt: new Date(Date.now() - 1000) })
  const future = await createKey(database, { ...wish, expiresAt: new Date(Date.now() + 60_000) })
  expect(await verdict(newCheck(), past.secret)).toBe('invalid_api_key')
  expect(await verdict(newCheck(), future.secret)).toBe('good')
  await database.query(
    `insert into accounts (id, name, disabled_at) values ('acct_off', 'off', now())`,
  )
  const off = await createKey(database, { ...wish, accountId: 'acct_off' })
  expect(await verdict(newCheck(), off.secret)).toBe('invalid_api_key')
})

test('a key that has already expired is not created', async () => {
  const expired = createKey(database, { ...wish, expiresAt: new Date(Date.now() - 1000) })
  expect(await rejection(expired)).toMatchObject({ code: 'invalid_value', param: 'expires_at' })
})

test('a rotated key has a new secret, and the old one works only for the overlap', async () => {
  const { secret, key } = await createKey(database, wish)
  const next = await rotateKey(database, key.id, 3600)
  expect(next.key.id).toBe(key.id)
  expect(await verdict(newCheck(), secret)).toBe('good')
  expect(await verdict(newCheck(), next.secret)).toBe('good')
  await database.query(
    `update api_keys set previous_until = now() - interval '1 s' where id = $1`,
    [key.id],
  )
  expect(await verdict(newCheck(), secret)).toBe('invalid_api_key')
  const last = await rotateKey(database, key.id, 0)
  expect(await verdict(newCheck(), next.secret)).toBe('invalid_api_key')
  expect(await verdict(newCheck(), last.secret)).toBe('good')
})

test('a rotation does not extend the life of the old secret', async () => {
  const { key, secret } = await createKey(database, wish)
  await changeKey(database, key.id, { expiresAt: new Date() })
  const next = await rotateKey(database, key.id, 3600)
  await changeKey(database, key.id, { expiresAt: null })
  expect(await verdict(newCheck(), secret)).toBe('invalid_api_key')
  expect(await verdict(newCheck(), next.secret)).toBe('good')
})

test('a revoked key stays revoked: it cannot be rotated', async () => {
  const { key } = await createKey(database, wish)
  const { revokedAt } = await revokeKey(database, key.id)
  expect((await revokeKey(database, key.id)).revokedAt).toEqual(revokedAt)
  expect(await rejection(rotateKey(database, key.id, 0))).toMatchObject({ code: 'not_found' })
})

test('a key belongs to an existing account', async () => {
  const made = createKey(database, { ...wish, accountId: 'acct_nobody' })
  expect(await rejection(made)).toMatchObject({ code: 'not_found' })
})

test('a key can be renamed and limited, and other fields stay unchanged', async () => {
  const expiresAt = new Date(Date.now() + 60_000)
  const { key } = await createKey(database, { ...wish, expiresAt })
  const limits = parseLimits({ requests_per_minute: 5 })
  const changed = await changeKey(database, key.id, { name: 'new name', limits })
  expect(changed).toMatchObject({ name: 'new name', limits, expiresAt })
  expect((await changeKey(database, key.id, { expiresAt: null })).expiresAt).toBeNull()
  expect(await findKey(database, key.id)).toMatchObject({ name: 'new name', limits })
})

test('invalid limits are refused', () => {
  for (const value of [-1, 1.5, '5', 1e16, Number.NaN]) {
    expect(() => parseLimits({ requests_per_minute: value })).toThrow()
  }
  expect(() => parseLimits({ requests_per_hour: 1 })).toThrow()
  expect(() => parseLimits([])).toThrow()
})

test('the last use is written for the keys that were used', async () => {
  const { secret, key } = await createKey(database, wish)
  const { key: unused } = await createKey(database, wish)
  const check = newCheck()
  await check.check(secret)
  await writeLastUse(database, check.takeUsed())
  expect(check.takeUsed().size).toBe(0)
  const keys = await listKeys(database, 'acct_default')
  expect(keys.find((each) => each.id === key.id)?.lastUsedAt).toBeInstanceOf(Date)
  expect(keys.find((each) => each.id === unused.id)?.lastUsedAt).toBeNull()
})

test('if the database fails, keys are refused with a retryable error', async () => {
  const { secret } = await createKey(database, wish)
  const failing = { ...database, query: () => Promise.reject(new Error('gone')) }
  expect(await verdict(newCheck({ database: failing }), secret)).toBe('overloaded')
})

test('a flood of unknown keys exhausts neither memory nor database', async () => {
  let asked = 0
  const query = () => {
    asked++
    return new Promise<never>(() => undefined)
  }
  const slow = { ...database, query }
  const check = newCheck({ database: slow, maxLookups: 3 })
  const verdicts = Array.from({ length: 10 }, () => {
    try {
      void check.check(issueApiKey().secret)
      return 'asked'
    } catch (error) {
      return (error as { code: string }).code
    }
  })
  expect(asked).toBe(3)
  expect(verdicts.filter((each) => each === 'overloaded')).toHaveLength(7)
})

test('guesses neither push out nor delay a key that was valid', async () => {
  const { secret } = await createKey(database, wish)
  let isSlow = false
  const query: Database['query'] = (...given) =>
    isSlow ? new Promise<never>(() => undefined) : database.query(...given)
  const check = newCheck({ database: { ...database, query }, maxCached: 2, maxLookups: 3 })
  expect(await verdict(check, secret)).toBe('good')
  for (let count = 0; count < 5; count++) await verdict(check, issueApiKey().secret)
  isSlow = true
  expect(await verdict(check, secret)).toBe('good') // from memory
  for (let count = 0; count < 3; count++) void verdict(check, issueApiKey().secret)
  expect(await verdict(check, issueApiKey().secret)).toBe('overloaded')
  isSlow = false
  nowMs += 2000 // the cached answer has aged
  expect(await verdict(check, secret)).toBe('good')
})

test('memory holds a bounded number of answers', async () => {
  let asked = 0
  const query: Database['query'] = (...given) => {
    asked++
    return database.query(...given)
  }
  const check = newCheck({ database: { ...database, query }, maxCached: 2 })
  const guesses = Array.from({ length: 3 }, () => issueApiKey().secret)
  for (const guess of guesses) await verdict(check, guess)
  expect(await verdict(check, guesses[0])).toBe('invalid_api_key')
  expect(asked).toBe(4) // the first was forgotten
  expect(await verdict(check, guesses[2])).toBe('invalid_api_key')
  expect(asked).toBe(4)
})
