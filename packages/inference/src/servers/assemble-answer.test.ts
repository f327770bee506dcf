/** An answer assembled from a stream contains everything the server sent, including unknown fields. */
import { describe, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { JsonObject } from '../engine.ts'
import { assembleAnswer } from './assemble-answer.ts'

async function* from(chunks: readonly JsonObject[]): AsyncGenerator<JsonObject> {
  yield* structuredClone(chunks as JsonObject[])
}
const chat = (index: number, delta: JsonObject, fields: JsonObject = {}): JsonObject => ({
  id: 'a',
  choices: [{ index, delta, finish_reason: null, ...fields }],
})
const usage = {
  prompt_tokens: 3,
  completion_tokens: 4,
  prompt_tokens_details: { cached_tokens: 2 },
}

describe('chat', () => {
  test('text, reasoning, refusal and unknown fields are joined, choice by choice', async () => {
    const answer = await assembleAnswer(
      from([
        { ...chat(0, { role: 'assistant', content: '' }), system_fingerprint: 'fp' },
        chat(1, { role: 'assistant', content: 'x' }),
        chat(0, { reasoning: 'I ', reasoning_content: 'I ' }),
        chat(0, { reasoning: 'see', reasoning_content: 'see', novelty: 'n' }),
        chat(0, { content: 'one', novelty: 'ew', refusal: null }),
        chat(0, { content: ' two' }, { token_ids: [1] }),
        chat(
          0,
          {},
          { finish_reason: 'stop', stop_reason: ' three', token_ids: [2], extra: { a: 1 } },
        ),
        chat(1, { content: 'y' }, { finish_reason: 'length' }),
        { id: 'a', choices: [], usage, timings: { n: 1 } },
      ]),
    )
    expect(answer).toEqual({
      ...{ id: 'a', system_fingerprint: 'fp', usage, timings: { n: 1 } },
      choices: [
        {
          index: 0,
          message: {
            ...{ role: 'assistant', reasoning: 'I see', reasoning_content: 'I see' },
            ...{ content: 'one two', novelty: 'new', refusal: null },
          },
          ...{ finish_reason: 'stop', stop_reason: ' three', token_ids: [1, 2], extra: { a: 1 } },
        },
        { index: 1, message: { role: 'assistant', content: 'xy' }, finish_reason: 'length' },
      ],
    })
  })

  test('log probabilities are joined into one list', async () => {
    const token = (name: string) => ({ token: name, logprob: -1, bytes: [1], top_logprobs: [] })
    const logprobs = (name: string) => ({ content: [token(name)], refusal: null })
    const answer = await assembleAnswer(
      from([
        chat(0, { content: '' }, { logprobs: null }),
        chat(0, { content: 'a' }, { logprobs: logprobs('a') }),
        chat(0, { content: 'b' }, { logprobs: logprobs('b'), finish_reason: 'stop' }),
      ]),
    )
    expect((answer.choices as JsonObject[])[0]?.logprobs).toEqual({
      ...{ content: [token('a'), token('b')], refusal: null },
    })
  })
})

test('completions are joined with their log probabilities', async () => {
  const chunk = (text: string, at: number, finish_reason: string | null): JsonObject => ({
    choices: [
      {
        ...{ index: 0, text, finish_reason },
        logprobs: { tokens: [text], token_logprobs: [-at], top_logprobs: [{}], text_offset: [at] },
      },
    ],
  })
  const { choices } = await assembleAnswer(from([chunk('a', 0, null), chunk('b', 1, 'length')]))
  expect(choices).toEqual([
    {
      ...{ index: 0, text: 'ab', finish_reason: 'length' },
      logprobs: {
        ...{ tokens: ['a', 'b'], token_logprobs: [-0, -1] },
        ...{ top_logprobs: [{}, {}], text_offset: [0, 1] },
      },
    },
  ])
})

test('an unfinished answer is a failure', async () => {
  for (const chunks of [[], [{ choices: [], usage }], [chat(0, { content: 'a' })]])
    expect(await rejection(assembleAnswer(from(chunks)))).toMatchObject({ code: 'engine_failed' })
})
