import { expect, test } from 'bun:test'
import { buildRequest, defaultSettings, formatExample, toolExample } from './build-request.ts'
import { keptConversations, maxKept } from './kept-conversations.ts'
import { SentenceReader } from './sentences.ts'

const said = [{ role: 'user' as const, text: 'hello' }]

test('only what was set is in the request', () => {
  expect(buildRequest('m', said, defaultSettings)).toEqual({
    kind: 'built',
    request: {
      model: 'm',
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 512,
    },
  })
  const settings = {
    ...{ system: 'be\nbrief', maxTokens: '9', temperature: '0', topP: '0.5', seed: '7' },
    ...{ stop: 'a\n\nb', tools: toolExample, format: formatExample },
  }
  const built = buildRequest('m', said, settings)
  expect(built).toMatchObject({
    request: {
      messages: [{ role: 'system', content: 'be\nbrief' }, { role: 'user' }],
      ...{ max_completion_tokens: 9, temperature: 0, top_p: 0.5, seed: 7, stop: ['a', 'b'] },
      tools: [{ function: { name: 'weather' } }],
      response_format: { type: 'json_schema' },
    },
  })
})

test('an image precedes its text, as a part', () => {
  const built = buildRequest(
    'm',
    [{ ...said[0]!, images: ['data:image/png;base64,AA'] }],
    defaultSettings,
  )
  expect(built).toMatchObject({
    request: { messages: [{ content: [{ type: 'image_url' }, { type: 'text', text: 'hello' }] }] },
  })
})

test('invalid settings are named as in the form', () => {
  const wrong = (change: object) => buildRequest('m', said, { ...defaultSettings, ...change })
  expect(wrong({ temperature: '3' })).toEqual({
    kind: 'wrong',
    reason: 'Temperature must be between 0 and 2',
  })
  expect(wrong({ tools: '{' })).toEqual({ kind: 'wrong', reason: 'Tools is not valid JSON' })
})

const wholeSentences = (text: string, ended: boolean) => new SentenceReader().read(text, ended)

test('sentences are announced once they are complete', () => {
  expect(wholeSentences('One. Tw', false)).toEqual(['One.'])
  expect(wholeSentences('One. Two is 3.14 wide! And', false)).toEqual(['One.', 'Two is 3.14 wide!'])
  expect(wholeSentences('One', false)).toEqual([])
  expect(wholeSentences('One', true)).toEqual(['One'])
  expect(wholeSentences('- a\n- b', true)).toEqual(['- a', '- b'])
  expect(wholeSentences('', true)).toEqual([])
})

test('earlier sentences never change while an answer grows', () => {
  const whole = 'First. Second has v1.2 in it? Yes!\nLast line'
  for (let length = 0; length < whole.length; length++) {
    const now = wholeSentences(whole.slice(0, length), false)
    expect(wholeSentences(whole, true).slice(0, now.length)).toEqual([...now])
  }
})

test('a growing text gives the same sentences, however it is cut', () => {
  const whole = 'First. Second has v1.2 in it?! Yes!\n\nLast line... "Quoted." End'
  for (const step of [1, 2, 3, 7]) {
    const reader = new SentenceReader()
    for (let length = 0; length < whole.length; length += step) {
      const text = whole.slice(0, length)
      expect(reader.read(text, false)).toEqual(wholeSentences(text, false))
    }
    expect(reader.read(whole, true)).toEqual(wholeSentences(whole, true))
    expect(reader.read('Another. Text', false)).toEqual(['Another.'])
  }
})

test('sentences that were read are not read again, and reading many takes no time', () => {
  const reader = new SentenceReader()
  const before = reader.read('One. Two. Thr', false)
  expect(reader.read('One. Two. Three', false)).toBe(before)
  const startMs = performance.now()
  expect(reader.read('Short. '.repeat(100_000), true).length).toBe(100_000)
  expect(performance.now() - startMs).toBeLessThan(5_000) // more than a minute if it were quadratic
})

test('what a browser saves of conversations is bounded, and the current one comes first', () => {
  const all = Array.from({ length: 40 }, (_, index) => ({ id: `c${index}`, text: 'x'.repeat(100) }))
  const ids = (most?: number) => keptConversations(all, 'c39', most).map(({ id }) => id)
  expect(ids()).toEqual([...all.slice(0, maxKept - 1).map(({ id }) => id), 'c39'])
  expect(ids(400)).toEqual(['c0', 'c1', 'c39'])
  expect(ids(10)).toEqual([])
})
