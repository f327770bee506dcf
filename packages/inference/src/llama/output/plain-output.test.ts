/** Reasoning, answers and function calls are separated however the text is chunked. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { OutputPart } from './output-part.ts'
import { PlainOutput } from './plain-output.ts'

const read = (
  pieces: readonly string[],
  startsInReasoning = false,
  hasTools = true,
  isCut = false,
) => {
  const output = new PlainOutput({ startsInReasoning, hasTools })
  return summarise([...pieces.flatMap((piece) => output.push(piece)), ...output.end(isCut)])
}

/** Joined by kind, as a caller sees it in the end. */
function summarise(parts: readonly OutputPart[]) {
  const text = (kind: 'content' | 'reasoning'): string =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('')
  const calls: { name: string; arguments: string }[] = []
  for (const part of parts) {
    if (part.kind === 'call') calls[part.index] = { name: part.name, arguments: '' }
    if (part.kind === 'arguments') calls[part.index]!.arguments += part.text
  }
  return { content: text('content'), reasoning: text('reasoning'), calls }
}

const whole =
  '<think>\nhm, <b>weather</b>\n</think>\n\nLet me see.\n<tool_call>\n{"name": "f", "arguments": {"a": "}</tool"}}\n</tool_call>\n<tool_call>{"arguments": {"b": "\\"</tool_call>"}, "name": "g"}</tool_call>\n<tool_call>{"name": "h", "arguments": {"</tool_call>": ["<tool_call>\\\\", "</tool_call>\\""]}}</tool_call> "Bye"'
const expected = {
  reasoning: 'hm, <b>weather</b>\n',
  content: 'Let me see.\n "Bye"',
  calls: [
    { name: 'f', arguments: '{"a": "}</tool"}' },
    { name: 'g', arguments: '{"b":"\\"</tool_call>"}' },
    { name: 'h', arguments: '{"</tool_call>": ["<tool_call>\\\\", "</tool_call>\\""]}' },
  ],
}

describe('plain output', () => {
  test('is the same in one piece and character by character', () => {
    expect(read([whole])).toEqual(expected)
    expect(read([...whole])).toEqual(expected)
  })

  test('is the same however it is chunked', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 12 }), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), whole.length]
        expect(read(places.slice(1).map((end, at) => whole.slice(places[at], end)))).toEqual(
          expected,
        )
      }),
    )
  })

  test('starts in reasoning if the prompt opened it', () => {
    expect(read(['so be it</think>yes'], true)).toMatchObject({
      reasoning: 'so be it',
      content: 'yes',
    })
  })

  test('keeps white space at the start of an answer, and markers inside it', () => {
    expect(read([' ', 'The tag <think> is text here'])).toMatchObject({
      content: ' The tag <think> is text here',
      reasoning: '',
    })
  })

  test('parses no calls if there are no tools', () => {
    expect(read(['<tool_call>{"name":"f"}</tool_call>'], false, false)).toMatchObject({
      content: '<tool_call>{"name":"f"}</tool_call>',
      calls: [],
    })
  })

  test('shows text that is marked as a call but is not one', () => {
    for (const text of ['nonsense', 'say "hi', '"', ' [1, "2"]'])
      for (const split of [(all: string) => [all], (all: string) => [...all]])
        expect(read(split(`<tool_call>${text}</tool_call>`))).toMatchObject({
          content: `<tool_call>${text}</tool_call>`,
          calls: [],
        })
  })

  test('emits a truncated call as far as it was written', () => {
    expect(read(['<tool_call>{"name": "f", "arguments": {"a": 1'])).toMatchObject({
      calls: [{ name: 'f', arguments: '{"a": 1' }],
    })
  })

  test('emits an incomplete marker as text', () => {
    expect(read(['a < b <tool_ca'])).toMatchObject({ content: 'a < b <tool_ca' })
  })

  test('shows nothing of a marker or call that the token limit truncated', () => {
    const cut = (text: string) => read([text], false, true, true)
    expect(cut('<')).toMatchObject({ content: '', calls: [] })
    expect(cut('Well <tool_ca')).toMatchObject({ content: 'Well ', calls: [] })
    expect(cut('<tool_call>{"na')).toMatchObject({ content: '', calls: [] })
    const first = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    expect(cut(`${first}<`)).toMatchObject({ content: '', calls: [{ name: 'f' }] })
    expect(cut('<tool_call>{"name": "f", "arguments": {"a": "b</tool')).toMatchObject({
      calls: [{ name: 'f', arguments: '{"a": "b</tool' }],
    })
    expect(cut('<tool_call>{"name": "f", "arguments": {"a": "b"}}</tool')).toMatchObject({
      content: '',
      calls: [{ name: 'f', arguments: '{"a": "b"}' }],
    })
  })

  test('reports the moment a call starts', () => {
    const output = new PlainOutput({ startsInReasoning: false, hasTools: true })
    output.push('Well. <tool_call')
    expect(output.isAtCall).toBe(false)
    output.push('>\n')
    expect(output.isAtCall).toBe(true)
    output.push('{')
    expect(output.isAtCall).toBe(false)
  })
})
