import { expect, test } from 'bun:test'
import { GrammarBuilder } from './gbnf.ts'

test('a grammar has at most 4,000 rules', () => {
  const builder = new GrammarBuilder()
  for (let rule = 1; rule <= 4000; rule++) expect(builder.reserve()).toBe(`r${rule}`)
  expect(() => builder.reserve()).toThrow(expect.objectContaining({ code: 'unsupported_value' }))
})
