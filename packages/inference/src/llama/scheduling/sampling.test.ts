/** Sampling options of a request. */
import { expect, test } from 'bun:test'
import { readSampling } from './sampling.ts'

const context = { defaults: {}, vocabularySize: 100, contextLength: 50, prompt: [7, 8, 9] }
const read = (body: object) => readSampling({ ...body }, context, 1)[0]!

test('without options the distribution is the plain one', () => {
  expect(read({})).toEqual({ temperature: 1, seed: expect.any(Number) })
})

test('the model’s defaults apply if the request sets nothing', () => {
  const defaults = { temperature: 0.7, topP: 0.9, topK: 40, minP: 0.05, repetitionPenalty: 1.1 }
  const [config] = readSampling({ temperature: 0.2 }, { ...context, defaults }, 1)
  expect(config).toMatchObject({
    temperature: 0.2,
    topP: 0.9,
    topK: 40,
    minP: 0.05,
    repeatPenalty: 1.1,
  })
})

test('OpenAI penalties apply to the answer, the repetition penalty also to the prompt', () => {
  expect(read({ frequency_penalty: 1 }).repeatPenaltyTokens).toEqual(new Uint32Array())
  expect(read({ repetition_penalty: 1.2 }).repeatPenaltyTokens).toEqual(Uint32Array.of(7, 8, 9))
})

test('every choice has its own seed, derived reproducibly from the request’s seed', () => {
  const seeds = readSampling({ seed: 5 }, context, 3).map((config) => config.seed)
  expect(new Set(seeds).size).toBe(3)
  expect(readSampling({ seed: 5 }, context, 3).map((config) => config.seed)).toEqual(seeds)
})

test('large and negative seeds differ and fit into 32 bits', () => {
  const seeds = [-1, 0, 1, 2 ** 32 + 1, 2 ** 53 - 1].map((seed) => read({ seed }).seed!)
  expect(new Set(seeds).size).toBe(5)
  for (const seed of seeds) expect(seed).toBeWithin(0, 2 ** 32)
})

test('a bias of -100 forbids a token', () => {
  const config = read({ logit_bias: { 5: -100, 6: 3 } })
  expect([...config.tokenBiasKeys!]).toEqual([5, 6])
  expect([...config.tokenBiasValues!]).toEqual([Number.NEGATIVE_INFINITY, 3])
})
