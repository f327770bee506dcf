import { expect, test } from 'bun:test'
import { pickInward, pickOutward } from './outward-headers.ts'

test('only headers that affect the API leave the machine', () => {
  const headers = new Headers({
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'x',
    'x-codex-turn-metadata': '/home/me/secret-project',
    'user-agent': 'agent',
    authorization: 'Bearer k',
    cookie: 'c',
  })
  expect(pickOutward(headers)).toEqual({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'x' })
})

test('a header longer than any real one is not forwarded', () => {
  expect(pickOutward(new Headers({ 'anthropic-beta': 'x'.repeat(5000) }))).toEqual({})
})

test('deprecation headers reach the application, with the successor', () => {
  const told = { deprecation: '@1', link: '</v1/x>; rel="successor-version"', warning: '299 - "w"' }
  expect(pickInward(told)).toEqual(told)
})

test('a worker can set listed headers only', () => {
  const picked = pickInward({ 'content-type': 'a/b', 'set-cookie': 'x', connection: 'close' })
  expect(picked).toEqual({ 'content-type': 'a/b' })
})
