import { expect, test } from 'bun:test'
import { findRemovals } from './find-removals.ts'

const changed = (...lines: string[]) =>
  findRemovals(lines.join('\n')).map(({ mutated }) => mutated.split('\n'))

test.each([
  ['if (a) throw new E()', 'if (false && (a)) throw new E()'],
  ['if (!f(a)) refuse(g(a))', 'if (false && (!f(a))) refuse(g(a))'],
  ["if (a === '(') fail(a)", "if (false && (a === '(')) fail(a)"],
  ['if (!/[/(]\\)/.test(a)) throw b', 'if (false && (!/[/(]\\)/.test(a))) throw b'],
  ['if (a) return refuse(b)', 'if (false && (a)) return refuse(b)'],
  ['require(a && f(b))', 'require(true || (a && f(b)))'],
])('%s is taken out', (line, expected) => {
  expect(changed(line)).toEqual([[expected]])
})

test('a condition that accepts becomes true', () => {
  expect(changed('function f() {', '  if (a) return', '  throw b', '}')[0]?.[1]).toBe(
    '  if (true || (a)) return',
  )
})

test('a condition with a block, and a multi-line one, is removed', () => {
  expect(changed('if (a) {', '  throw b', '}')).toEqual([['if (false && (a)) {', '  throw b', '}']])
  expect(changed('if (', '  a ||', '  (b && c)', ') {', '  throw d', '}')).toEqual([
    ['if (false && (', '  a ||', '  (b && c)', ')) {', '  throw d', '}'],
  ])
})

test('a condition that refuses nothing is kept', () => {
  expect(changed('if (a) b()', 'if (', '  a', ') {', '  b()', '}', 'require(a)(b')).toEqual([])
})
