import { expect, test } from 'bun:test'
import { Secret } from '@privatemode/service'
import { operatorCheck } from './operator-token.ts'

test("the operator's token is accepted, and nothing else is", () => {
  const check = operatorCheck(new Secret('the token'))
  expect(() => check('the token')).not.toThrow()
  const refused = expect.objectContaining({ code: 'invalid_api_key' })
  for (const token of [undefined, '', 'the toke', 'the token ', 'The token']) {
    expect(() => check(token)).toThrow(refused)
  }
})
