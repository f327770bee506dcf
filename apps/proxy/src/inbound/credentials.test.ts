import { expect, test } from 'bun:test'
import { Secret } from '@privatemode/service'
import { chooseApiKey } from './credentials.ts'

const choose = (headers: Record<string, string>, own?: string) =>
  chooseApiKey(new Headers(headers), own === undefined ? undefined : new Secret(own))

test("a proxy with its own key never uses a client's", () => {
  expect(choose({ authorization: 'Bearer theirs', 'x-api-key': 'theirs' }, 'own')).toBe('own')
  expect(choose({}, 'own')).toBe('own')
})

test("without its own key it uses the client's, from either header", () => {
  expect(choose({ authorization: 'Bearer abc' })).toBe('abc')
  expect(choose({ authorization: 'bearer  abc ' })).toBe('abc')
  expect(choose({ 'x-api-key': 'abc' })).toBe('abc')
  expect(choose({ authorization: 'Bearer first', 'x-api-key': 'second' })).toBe('first')
  expect(choose({ authorization: 'Basic dXNlcg==', 'x-api-key': 'abc' })).toBe('abc')
})

test('a request without a key is refused', () => {
  for (const headers of [{}, { authorization: 'Basic dXNlcg==' }, { 'x-api-key': ' ' }]) {
    expect(() => choose(headers)).toThrow(
      expect.objectContaining({ code: 'invalid_api_key', status: 401 }),
    )
  }
})

test('a malformed key is refused, and not repeated', () => {
  const odd = 'k'.repeat(600)
  expect(() => choose({ 'x-api-key': odd })).toThrow('invalid characters')
  expect(() => choose({ 'x-api-key': 'two words' })).not.toThrow('two words')
})
