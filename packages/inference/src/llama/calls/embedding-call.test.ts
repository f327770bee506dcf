/** Embeddings on the real sentence encoder. */
import { afterAll, expect, test } from 'bun:test'
import { rejection } from '../../../../../test/rejection.ts'
import { type Answer, ask, askStream, modelPath } from '../../../../../test/story-model.ts'
import { createEmbeddedEngine } from '../embedded-engine.ts'

const path = await modelPath('all-minilm-l6-v2')
const engine = await createEmbeddedEngine({
  threads: 1,
  models: [
    { path, id: 'minilm', task: 'embed' },
    { path, id: 'shortable', task: 'embed', canShorten: true },
  ],
})
afterAll(() => engine.close())

const embed = async (input: unknown, body: object = {}): Promise<Answer> =>
  await ask(engine, 'embeddings', { model: 'minilm', input, ...body })
const vectorsOf = (answer: Answer): Float32Array[] =>
  answer.data.map((item: Answer) => item.embedding)
const cosine = (one: Float32Array, other: Float32Array): number =>
  one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0)

test('vectors are normalised, and similarities match the model card', async () => {
  const [food, bread, baby] = vectorsOf(
    await embed([
      'A man is eating food.',
      'A man is eating a piece of bread.',
      'The girl is carrying a baby.',
    ]),
  )
  expect(food).toHaveLength(384)
  expect(cosine(food!, food!)).toBeCloseTo(1, 5)
  expect(cosine(food!, bread!)).toBeCloseTo(0.7553, 2)
  expect(cosine(food!, baby!)).toBeLessThan(0)
})

test('many concurrent inputs from many callers keep their order', async () => {
  const words = ['sun', 'moon', 'star', 'sea', 'tree', 'bird']
  const alone = await Promise.all(words.map(async (word) => vectorsOf(await embed(word))[0]!))
  const together = vectorsOf(await embed(words))
  for (const [at, vector] of together.entries())
    expect(cosine(vector, alone[at]!)).toBeCloseTo(1, 4)
})

test('token ids yield the same result as their text', async () => {
  const [byText] = vectorsOf(await embed('a man is eating food.'))
  const ids = [101, 1037, 2158, 2003, 5983, 2833, 1012, 102]
  const [byIds] = vectorsOf(await embed(ids))
  const [listed] = vectorsOf(await embed([ids]))
  expect(cosine(byText!, byIds!)).toBeCloseTo(1, 5)
  expect(cosine(byText!, listed!)).toBeCloseTo(1, 5)
})

test('usage includes the start and end tokens', async () => {
  const answer = await embed(['a man is eating food.', 'sun'])
  expect(answer.usage).toEqual({ prompt_tokens: 8 + 3, total_tokens: 8 + 3 })
})

test('models that support it return fewer dimensions, renormalised', async () => {
  const [short] = vectorsOf(await embed('sun', { model: 'shortable', dimensions: 64 }))
  expect(short).toHaveLength(64)
  expect(cosine(short!, short!)).toBeCloseTo(1, 5)
  expect(await rejection(embed('sun', { dimensions: 64 }))).toMatchObject({ param: 'dimensions' })
})

test('an input that exceeds the context is 400, not truncated', async () => {
  expect(await rejection(embed('word '.repeat(600)))).toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
    message: expect.stringContaining('maximum context length is 512 tokens'),
  })
})

test.each([[''], [[]], [['x', '']], [null], [[[1e9]]], [['x', 3]]])(
  'the input %j is 400',
  async (input) => {
    expect(await rejection(embed(input))).toMatchObject({ status: 400, param: 'input' })
  },
)

test('an aborted call stops between its texts and reports what it cost', async () => {
  const stop = new AbortController()
  let tokens = 0
  const onUsage = ({ promptTokens }: { promptTokens: number }): void => {
    tokens = promptTokens
    stop.abort()
  }
  const asked = ask(
    engine,
    'embeddings',
    { model: 'minilm', input: ['one', 'two', 'three'] },
    { signal: stop.signal, onUsage },
  )
  expect(await rejection(asked)).toMatchObject({ code: 'aborted' })
  expect(tokens).toBe(3)
})

test('embeddings are never streamed, and this model does not chat', async () => {
  const body = { model: 'minilm', input: 'x' }
  expect(await rejection(askStream(engine, 'embeddings', body))).toMatchObject({ status: 400 })
  const chat = { model: 'minilm', messages: [{ role: 'user', content: 'x' }] }
  expect(await rejection(ask(engine, 'chat', chat))).toMatchObject({ status: 400, param: 'model' })
})
