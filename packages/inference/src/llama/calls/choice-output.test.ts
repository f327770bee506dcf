/** What the caller sees of a choice, and in which order. */
import { expect, test } from 'bun:test'
import { PlainOutput } from '../output/plain-output.ts'
import type { TokenText } from '../scheduling/token-text.ts'
import { ChoiceOutput } from './choice-output.ts'

const pieces = ['Sure ST', '<tool_call>', '{"name": "f", "arguments": {}}', '</tool_call>', 'OP']
const text = {
  isControl: () => false,
  nameOf: (token: number) => pieces[token],
  bytesOf: (token: number) => new TextEncoder().encode(pieces[token]),
} as unknown as TokenText

test('text that was held back in case it became a stop string comes before a call', () => {
  const output = new ChoiceOutput({
    text,
    reader: new PlainOutput({ startsInReasoning: false, hasTools: true }),
    stops: ['STOP'],
    silentStops: [],
    shownMarks: new Set(),
    grammarAtCall: undefined,
    endsAfterCall: false,
  })
  const parts = pieces.flatMap(
    (_, token) => output.push({ token, isEnd: false, score: undefined }).parts,
  )
  expect([...parts, ...output.end(false)]).toEqual([
    { kind: 'content', text: 'Sure ' },
    { kind: 'content', text: 'ST' },
    { kind: 'call', index: 0, name: 'f' },
    { kind: 'arguments', index: 0, text: '{}' },
    { kind: 'content', text: 'OP' },
  ])
  expect(output.stopReason).toBeNull()
})
