/** Tests the checker of a campaign: it must detect what it is meant to detect. */
import { expect, test } from 'bun:test'
import { createChance } from '../random.ts'
import { answerTo, embeddingOf, makeQuestion, newMarker, type QuestionKind } from './question.ts'
import type { Ending, Reply } from './raw-exchange.ts'
import { judge } from './verdict.ts'

const marker = newMarker(createChance(1))
const question = (kind: QuestionKind, stream: boolean, id = 'q1') =>
  makeQuestion(marker, id, { kind, stream, words: 12, paceMs: 0, padBytes: 0 })
const reply = (text: string, ending: Ending = 'whole', status = 200): Reply => ({
  ...{ text, ending, status, headers: new Map(), firstMs: 0 },
})
const chatStream = (text: string, end: string) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n${end}`
const messageStream = (text: string, end: string) =>
  `event: x\ndata: ${JSON.stringify({ type: 'content_block_delta', delta: { text } })}\n\n${end}`
const done = 'data: [DONE]\n\n'
const stop = 'data: {"type":"message_stop"}\n\n'
const failure = 'data: {"error":{"code":"worker_unreachable"}}\n\n'

test('correct and complete answers are accepted', () => {
  const chat = question('chat', false)
  const said = answerTo(chat.prompt)
  const kindOf = (...args: Parameters<typeof judge>) => judge(...args).kind
  expect(kindOf(chat, reply(JSON.stringify({ choices: [{ message: { content: said } }] })))).toBe(
    'right',
  )
  expect(
    kindOf(question('messages', false), reply(JSON.stringify({ content: [{ text: said }] }))),
  ).toBe('right')
  expect(kindOf(question('chat', true), reply(chatStream(said, done)))).toBe('right')
  expect(kindOf(question('messages', true), reply(messageStream(said, stop)))).toBe('right')
  const data = [{ embedding: embeddingOf(chat.prompt) }]
  expect(kindOf(question('embeddings', false), reply(JSON.stringify({ data })))).toBe('right')
})

test("a short or unfinished answer, or another client's, is a violation, however it is sent", () => {
  const stream = question('chat', true)
  const said = answerTo(stream.prompt)
  const others = answerTo(question('chat', true, 'q2').prompt)
  const bad = [
    judge(stream, reply(chatStream(said.slice(0, -1), done))),
    judge(stream, reply(chatStream(said, ''))),
    judge(stream, reply(chatStream(others, done))),
    judge(stream, reply(chatStream(others.slice(0, 60), failure))),
    judge(question('messages', true), reply(messageStream(said.slice(0, 50), stop))),
    judge(
      question('chat', false),
      reply(JSON.stringify({ choices: [{ message: { content: others } }] })),
    ),
    judge(question('embeddings', false), reply('{"data":[{"embedding":[0,0,0,0]}]}')),
    judge(question('chat', false), reply('hello')),
    judge(stream, reply('no error here', 'whole', 500)),
  ]
  expect(bad.map(({ kind }) => kind)).toEqual(bad.map(() => 'violation'))
})

test('an explicit error is an error', () => {
  const stream = question('chat', true)
  const said = answerTo(stream.prompt).slice(0, 40)
  const told = [
    judge(stream, reply(chatStream(said, failure))),
    judge(stream, reply(chatStream(said, ''), 'cut')),
    judge(stream, reply('{"error":{"code":"overloaded"}}', 'whole', 503)),
    judge(stream, reply('', 'no connection', 0)),
    judge(question('chat', false), reply('{"choices":[{"mess', 'cut')),
  ]
  expect(told.map(({ kind }) => kind)).toEqual(told.map(() => 'error'))
})
