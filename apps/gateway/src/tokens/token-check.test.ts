import { expect, test } from 'bun:test'
import { Secret } from '@privatemode/service'
import { tokenCheck } from './token-check.ts'

test('a token is accepted, and nothing else is', () => {
  const check = tokenCheck('admin', new Secret('the token'))
  expect(() => check('the token')).not.toThrow()
  const refused = expect.objectContaining({ code: 'invalid_api_key' })
  for (const token of [undefined, '', 'the toke', 'the token ', 'The token']) {
    expect(() => check(token)).toThrow(refused)
  }
})
