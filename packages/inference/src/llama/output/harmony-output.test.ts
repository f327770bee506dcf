/** OpenAI's Harmony format, as its specification shows it. */
import { expect, test } from 'bun:test'
import { HarmonyOutput } from './harmony-output.ts'
import type { OutputPart } from './output-part.ts'

function read(text: string): { parts: OutputPart[]; finishedCalls: number } {
  const output = new HarmonyOutput()
  const parts = [...[...text].flatMap((char) => output.push(char)), ...output.end(false)]
  return { parts, finishedCalls: output.finishedCalls }
}

const joined = (parts: readonly OutputPart[], kind: OutputPart['kind']): string =>
  parts.map((part) => (part.kind === kind && 'text' in part ? part.text : '')).join('')

test('an answer that the prompt has started is continued', () => {
  const output = new HarmonyOutput(true)
  expect(output.push('llo!<|return|>')).toEqual([{ kind: 'content', text: 'llo!' }])
  expect(output.end(false)).toEqual([])
})

test('analysis is reasoning and final is the answer', () => {
  const { parts } = read(
    '<|channel|>analysis<|message|>User says hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>',
  )
  expect(joined(parts, 'reasoning')).toBe('User says hi.')
  expect(joined(parts, 'content')).toBe('Hello!')
})

test.each([
  '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Rome"}<|call|>',
  ' to=functions.weather<|channel|>commentary <|constrain|>json<|message|>{"city":"Rome"}<|call|>',
])('a message to a function is a call: %s', (text) => {
  const { parts, finishedCalls } = read(text)
  expect(parts[0]).toEqual({ kind: 'call', index: 0, name: 'weather' })
  expect(joined(parts, 'arguments')).toBe('{"city":"Rome"}')
  expect(finishedCalls).toBe(1)
})

test('commentary without a recipient is a preamble for the user', () => {
  const { parts } = read('<|channel|>commentary<|message|>I will look it up.<|end|>')
  expect(joined(parts, 'content')).toBe('I will look it up.')
})

test('two calls have two indices', () => {
  const call = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>'
  const { parts } = read(`${call}<|start|>assistant${call}`)
  expect(parts.filter((part) => part.kind === 'call').map((part) => part.index)).toEqual([0, 1])
})
