import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { GrammarBuilder } from './gbnf.ts'
import { makeAutomaton, type PatternNode, type PatternState } from './pattern-automaton.ts'
import { addPattern } from './pattern-rule.ts'

/** Follows the only path that a text has. */
function matches(states: readonly PatternState[], text: string): boolean {
  let at = 0
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    const fitting = [...(states[at]?.next ?? [])].filter(([, ranges]) =>
      ranges.some(([from, to]) => from <= code && code <= to),
    )
    expect(fitting.length).toBeLessThanOrEqual(1)
    const [target] = fitting[0] ?? []
    if (target === undefined) return false
    at = target
  }
  return states[at]?.isEnd === true
}

const { node } = fc.letrec<{ node: PatternNode }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<PatternNode>(
      { kind: 'chars', ranges: [[97, 97]] },
      { kind: 'chars', ranges: [[97, 98]] },
      {
        kind: 'chars',
        ranges: [
          [98, 99],
          [120, 122],
        ],
      },
    ),
    fc.record({
      kind: fc.constant('sequence' as const),
      items: fc.array(tie('node'), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('options' as const),
      options: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
    }),
    fc
      .tuple(tie('node'), fc.nat(3), fc.option(fc.nat(3), { nil: undefined }))
      .map(([item, min, more]): PatternNode => {
        const max = more === undefined ? undefined : min + more
        return { kind: 'repeat', item, min, max }
      }),
  ),
}))

function source(pattern: PatternNode): string {
  switch (pattern.kind) {
    case 'chars': {
      const ranges = pattern.ranges.map((range) =>
        String.fromCharCode(...range).replace(/^(.)/, '$1-'),
      )
      return `[${ranges.join('')}]`
    }
    case 'sequence':
      return `(?:${pattern.items.map(source).join('')})`
    case 'options':
      return `(?:${pattern.options.map(source).join('|')})`
    case 'repeat':
      return `(?:${source(pattern.item)}){${pattern.min},${pattern.max ?? ''}}`
  }
}

/** Undefined if the pattern is refused, which a few of these are. */
function automatonOf(pattern: PatternNode): PatternState[] | undefined {
  try {
    return makeAutomaton(pattern)
  } catch (error) {
    expect(error).toMatchObject({ code: 'unsupported_value' })
    return undefined
  }
}

test('an automaton matches what the pattern matches, in one way', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'y'), maxLength: 6 })
  fc.assert(
    fc.property(node, fc.array(text, { minLength: 5, maxLength: 5 }), (pattern, texts) => {
      const states = automatonOf(pattern)
      fc.pre(states !== undefined)
      const expression = new RegExp(`^${source(pattern)}$`)
      for (const one of texts) expect(matches(states, one)).toBe(expression.test(one))
    }),
    { numRuns: 300 },
  )
}, 60_000)

test.each([
  ['many ways to read one text', '(a?){100}'],
  ['nested counts', '((a?){9}){9}'],
  ['stars in a row', 'a*'.repeat(200)],
])('%s become few states', (_, pattern) => {
  const builder = new GrammarBuilder()
  const name = addPattern(builder, pattern)
  // Each state has one move per character, and may be an end.
  expect(builder.format(name)).not.toMatch(/\|.*\|/)
})

test.each([
  ['more than 1,500 characters', 'a{800}b{800}'],
  ['counts of counts', '((a{900}){900}){900}'],
  ['far too many ways to read one text', '(a?){1000}'],
  ['a choice that is remembered for long', '(a|b)*a(a|b){40}'],
])('%s are refused, not followed', (_, pattern) => {
  expect(() => addPattern(new GrammarBuilder(), pattern)).toThrow('too complex')
})

test('patterns that take long to read are counted together', () => {
  const builder = new GrammarBuilder()
  const addAll = () => {
    for (let turn = 0; turn < 100; turn++) addPattern(builder, '(a?){100}')
  }
  expect(addAll).toThrow('too large')
}, 60_000)
