import { expect, test } from 'bun:test'
import { hkdfSync } from 'node:crypto'
import { Secret } from '@privatemode/service'
import { createDefaultSalt } from './cache-salt.ts'

const secret = new Secret('d'.repeat(32))

test('without sharing there is no default salt', () => {
  expect(createDefaultSalt({ kind: 'isolated' })('key')).toBeUndefined()
})

test('a random shared salt is generated once per process, with 256 bits', () => {
  const [one, other] = [
    createDefaultSalt({ kind: 'shared-random' }),
    createDefaultSalt({ kind: 'shared-random' }),
  ]
  expect(one('a')).toBe(one('b') as string)
  expect(one('a')).not.toBe(other('a') as string)
  expect(Buffer.from(one('a') ?? '', 'base64')).toHaveLength(32)
})

test('a configured salt is used unchanged', () => {
  const salt = createDefaultSalt({ kind: 'shared', salt: new Secret('given salt') })
  expect(salt('a')).toBe('given salt')
})

test('per key: the same key gets the same salt, another key or secret a different one', () => {
  const salt = createDefaultSalt({ kind: 'per-key', secret })
  expect(salt('a')).toBe(createDefaultSalt({ kind: 'per-key', secret })('a') as string)
  expect(salt('a')).not.toBe(salt('b') as string)
  const elsewhere = createDefaultSalt({ kind: 'per-key', secret: new Secret('e'.repeat(32)) })
  expect(salt('a')).not.toBe(elsewhere('a') as string)
  expect(Buffer.from(salt('a') ?? '', 'base64')).toHaveLength(32)
})

test('per key: the salt is derived with labelled HKDF-SHA256', () => {
  const info = 'privatemode/v1/default-cache-salt\0a-key'
  const expected = Buffer.from(hkdfSync('sha256', secret.reveal(), '', info, 32)).toString('base64')
  expect(createDefaultSalt({ kind: 'per-key', secret })('a-key')).toBe(expected)
})
