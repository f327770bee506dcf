import { expect, test } from 'bun:test'
import { readToolChoice } from './tool-choice.ts'

test('a request has at most 512 tools', () => {
  const tools = (count: number) => Array(count).fill({ type: 'function', function: { name: 'f' } })
  expect(readToolChoice({ tools: tools(512) }).tools).toHaveLength(512)
  expect(() => readToolChoice({ tools: tools(513) })).toThrow('at most 512')
})
