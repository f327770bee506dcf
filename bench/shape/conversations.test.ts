import { expect, test } from 'bun:test'
import { makeConversations } from './conversations.ts'
import { scriptConversation } from './scripted-conversation.ts'
import { seededRandom } from './seeded-random.ts'
import { families, topics } from './topics.ts'

test('a seed makes the same conversations again, another makes others', () => {
  const made = (seed: number) => makeConversations(30, seededRandom(seed))
  expect(made(1)).toEqual(made(1))
  expect(made(1)).not.toEqual(made(2))
})

test('every topic comes as often, and no word is left to be filled in', () => {
  const made = makeConversations(topics.length * 5, seededRandom(3))
  for (const { name } of topics) {
    expect(made.filter(({ topic }) => topic === name)).toHaveLength(5)
  }
  const texts = made.flatMap(({ turns }) =>
    turns.flatMap(({ question, answer }) => [question, answer]),
  )
  expect(texts.every((text) => text.length > 5 && !/[{}]/.test(text))).toBe(true)
})

test('there are topics enough, and those of a family share words', () => {
  expect(topics.length).toBeGreaterThanOrEqual(20)
  expect(new Set(topics.map(({ name }) => name)).size).toBe(topics.length)
  for (const family of Object.keys(families)) {
    expect(topics.filter((topic) => topic.family === family).length).toBeGreaterThanOrEqual(2)
  }
})

test('a script has a time for each token and joins to the answer again', () => {
  const random = seededRandom(4)
  const [conversation] = makeConversations(1, random)
  const byWord = (text: string) => text.match(/\s*\S+/g) ?? []
  const scripted = scriptConversation(conversation!, byWord, random)
  for (const [index, turn] of scripted.turns.entries()) {
    expect(turn.tokens.join('')).toBe(conversation?.turns[index]?.answer ?? '')
    expect(turn.pacesMs).toHaveLength(turn.tokens.length)
    expect(Math.min(...turn.pacesMs)).toBeGreaterThan(0)
  }
})
