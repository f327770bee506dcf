/** What a schema costs a legacy completion with many prompts and choices. */
import { expect, test } from 'bun:test'
import type { GenerativeModel } from '../model/generative-model.ts'
import type { GenerationTask } from '../scheduling/generation-task.ts'
import { answerCompletion } from './completion-call.ts'

test('a schema is compiled once per call, and started when a choice starts', async () => {
  let compiled = 0
  let started = 0
  const tasks: GenerationTask[] = []
  const grammar = { start: () => ++started, accepts: () => true }
  const model = {
    info: { id: 'm', contextLength: 100 },
    native: {
      createGrammar: () => {
        compiled++
        return grammar
      },
    },
    text: { size: 10 },
    tokenizer: { ofText: () => [1] },
    scheduler: {
      start: (asked: GenerationTask[][]) => {
        tasks.push(...asked.flat())
        return asked.flat().map(async () => 'length')
      },
    },
    sampling: {},
    maxChoices: 4,
  } as unknown as GenerativeModel
  const schema = { type: 'object', properties: { a: { type: 'integer' } } }
  const body = {
    prompt: ['a', 'b', 'c'],
    n: 4,
    response_format: { type: 'json_schema', json_schema: { name: 's', schema } },
  }
  const { signal } = new AbortController()
  await answerCompletion(model, { endpoint: 'completions', body, stream: false, signal }, 'key')
  expect({ compiled, started }).toEqual({ compiled: 1, started: 0 })
  expect(tasks).toHaveLength(12)
  expect(tasks.every((task) => task.grammar === (grammar as unknown))).toBe(true)
})
