import { expect, test } from 'bun:test'
import type { GenerativeModel } from '../model/generative-model.ts'
import { readPrompts } from './completion-prompts.ts'

test('a call has at most 128 prompts', () => {
  const model = { tokenizer: { ofText: () => [1] } } as unknown as GenerativeModel
  const prompt = Array<string>(128).fill('a')
  expect(readPrompts({ prompt }, model)).toHaveLength(128)
  expect(() => readPrompts({ prompt: [...prompt, 'a'] }, model)).toThrow('at most 128')
})
