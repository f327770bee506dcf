import { expect, test } from 'bun:test'
import { createLocalGuard } from './guard.ts'

const pass = (guard: ReturnType<typeof createLocalGuard>, headers: Record<string, string>) =>
  guard(new Headers(headers)) === undefined

test('a proxy on loopback is addressed as loopback or by an IP address', () => {
  const guard = createLocalGuard('127.0.0.1', [])
  for (const host of [
    'localhost:8080',
    '127.0.0.1:8080',
    '[::1]:8080',
    'LOCALHOST',
    '10.0.0.5:80',
  ]) {
    expect(pass(guard, { host })).toBe(true)
  }
})

test('a rebound DNS name is refused', () => {
  const guard = createLocalGuard('127.0.0.1', [])
  for (const host of [
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '',
  ]) {
    expect(pass(guard, { host })).toBe(false)
  }
})

test('only listed names are accepted', () => {
  const guard = createLocalGuard('127.0.0.1', ['proxy.lan'])
  expect(pass(guard, { host: 'proxy.lan:8080' })).toBe(true)
  expect(pass(guard, { host: 'other.lan:8080' })).toBe(false)
})

test('beyond loopback every name passes until a list is given', () => {
  expect(pass(createLocalGuard('0.0.0.0', []), { host: 'proxy.ns.svc' })).toBe(true)
  expect(pass(createLocalGuard('0.0.0.0', ['proxy.ns.svc']), { host: 'else.ns.svc' })).toBe(false)
})

test('a foreign origin is refused, even that of a local page on another port', () => {
  const guard = createLocalGuard('127.0.0.1', [])
  const host = 'localhost:8080'
  for (const origin of [
    'https://evil.example',
    'http://localhost:3000',
    'null',
    'http://localhost',
  ]) {
    expect(pass(guard, { host, origin })).toBe(false)
  }
})

test("the proxy's own page is allowed", () => {
  const guard = createLocalGuard('127.0.0.1', [])
  expect(pass(guard, { host: 'localhost:8080', origin: 'http://localhost:8080' })).toBe(true)
})

test('beyond loopback a page under a rebound name is refused by its origin', () => {
  const guard = createLocalGuard('0.0.0.0', [])
  const host = 'evil.example:8080'
  expect(pass(guard, { host, origin: `http://${host}` })).toBe(false)
})
