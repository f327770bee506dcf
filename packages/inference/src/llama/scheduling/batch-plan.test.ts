/** How a batch is divided. */
import { expect, test } from 'bun:test'
import { planBatch } from './batch-plan.ts'

const limits = { batchTokens: 68, promptChunk: 64, sharedChunk: 32 }
const prompt = (promptLeft: number, scoresPrompt = false) => ({
  promptLeft,
  scoresPrompt,
  endsAlone: true,
})
const generating = prompt(0)

test('a generating sequence always gets one token', () => {
  expect(planBatch([generating, generating, generating], limits)).toEqual([1, 1, 1])
})

test('a prompt alone gets a full chunk, alongside others a smaller one', () => {
  expect(planBatch([prompt(500)], limits)).toEqual([64])
  expect(planBatch([generating, prompt(500)], limits)).toEqual([1, 32])
})

test('the last token of a prompt is evaluated alone', () => {
  expect(planBatch([prompt(20)], limits)).toEqual([19])
  expect(planBatch([prompt(1)], limits)).toEqual([1])
})

test('a prompt that is never cached needs no step for its last token', () => {
  expect(planBatch([{ ...prompt(20), endsAlone: false }], limits)).toEqual([20])
})

test('prompts share the space in order of arrival', () => {
  expect(planBatch([prompt(40), prompt(500), prompt(500)], limits)).toEqual([39, 25, 0])
})

test('a scored prompt is evaluated in small steps', () => {
  expect(planBatch([prompt(100, true), prompt(100)], limits)).toEqual([16, 48])
})

test('a batch is never larger than the context allows', () => {
  const needs = [...Array.from({ length: 60 }, () => generating), prompt(500)]
  expect(planBatch(needs, limits).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(68)
})
