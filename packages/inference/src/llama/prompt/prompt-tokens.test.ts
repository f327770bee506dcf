import { expect, test } from 'bun:test'
import type { LlamaModel } from 'node-llama-cpp'
import type { TokenText } from '../scheduling/token-text.ts'
import { PromptTokens } from './prompt-tokens.ts'

test('more messages than the context has tokens are refused before any is looked at', () => {
  const text = { size: 10, longestName: 5, controlNames: () => ['<s>'] } as unknown as TokenText
  const tokens = new PromptTokens({} as LlamaModel, text, 4)
  expect(() => tokens.refuseMore(4, 'messages')).not.toThrow()
  expect(() => tokens.refuseMore(5, 'messages')).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded', param: 'messages' }),
  )
})
