import { expect, test } from 'bun:test'
import { memberExpiry } from './member-expiry.ts'

const day = (count: number) => new Date(Date.UTC(2026, 0, 1) + count * 86_400_000)
const bounds = { latestExpiry: null, keyDays: 30, secretSince: day(0), expiresAt: day(30) }

test('the life of a secret is counted from when it was issued, not from now', () => {
  expect(memberExpiry(day(30), bounds)).toEqual(day(30))
  expect(() => memberExpiry(day(31), bounds)).toThrow('2026-01-31 at the latest')
  expect(() => memberExpiry(null, bounds)).toThrow('at the latest')
  expect(memberExpiry(day(31), { ...bounds, secretSince: day(1) })).toEqual(day(31))
  expect(memberExpiry(undefined, { ...bounds, expiresAt: undefined })).toEqual(day(30))
})

test('a key that lasts longer than the policy allows can be shortened, not extended', () => {
  expect(memberExpiry(day(70), { ...bounds, expiresAt: day(80) })).toEqual(day(70))
  expect(memberExpiry(day(70), { ...bounds, expiresAt: null })).toEqual(day(70))
  expect(() => memberExpiry(day(81), { ...bounds, expiresAt: day(80) })).toThrow('at the latest')
  expect(() => memberExpiry(null, { ...bounds, expiresAt: null })).toThrow('at the latest')
  expect(() => memberExpiry(day(31), { ...bounds, expiresAt: undefined })).toThrow('at the latest')
})
