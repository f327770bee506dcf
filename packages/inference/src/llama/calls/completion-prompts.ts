/** Reads the prompts of a legacy completion: a text, texts, token ids, or lists of token ids. */
import { EngineError, type JsonObject } from '../../engine.ts'
import type { GenerativeModel } from '../model/generative-model.ts'

export type CompletionPrompt = { readonly tokens: readonly number[]; readonly text: string }

const maxPrompts = 128

export function readPrompts(body: JsonObject, model: GenerativeModel): CompletionPrompt[] {
  const { prompt } = body
  if (!Array.isArray(prompt)) return [readPrompt(prompt, model)]
  if (prompt.length === 0) throw invalid('prompt must not be empty')
  if (typeof prompt[0] === 'number') return [readPrompt(prompt, model)]
  if (prompt.length > maxPrompts) throw invalid(`prompt must list at most ${maxPrompts} prompts`)
  return prompt.map((one: unknown) => readPrompt(one, model))
}

function readPrompt(prompt: unknown, { tokenizer, text }: GenerativeModel): CompletionPrompt {
  if (typeof prompt === 'string') return { tokens: tokenizer.ofText(prompt), text: prompt }
  if (!Array.isArray(prompt)) throw invalid('prompt must be text, token ids, or a list of these')
  const tokens = tokenizer.ofIds(prompt, 'prompt')
  const shown = tokens.filter((token) => !text.isControl(token))
  const bytes = Buffer.concat(shown.map((token) => text.bytesOf(token)))
  return { tokens, text: bytes.toString('utf8') }
}

const invalid = (message: string): EngineError =>
  new EngineError('invalid_value', message, { param: 'prompt' })
