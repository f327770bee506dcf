import { expect, test } from 'bun:test'
import { HeldEnding, lastEvent } from './held-ending.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const decode = (parts: readonly Uint8Array[]) =>
  parts.map((part) => new TextDecoder().decode(part)).join('')
const event = (data: unknown, name?: string) =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
const typed = (type: string, more: object = {}) => event({ type, ...more }, type)

const chat = (content: string | undefined, finish: string | null = null, index = 0) =>
  event({
    choices: [{ index, delta: content === undefined ? {} : { content }, finish_reason: finish }],
  })

/**
 * For each dialect: the events passed on immediately, and those held until the end of the stream.
 */
const dialects: Record<string, { passed: string[]; held: string[] }> = {
  chat: {
    passed: [chat('a'), chat('finish_reason: "stop"')],
    held: [chat(undefined, 'stop'), event({ choices: [], usage: {} }), 'data: [DONE]\n\n'],
  },
  'chat, last text with the finish reason': {
    passed: [chat('a')],
    held: [chat('b', 'length'), 'data: [DONE]\n\n'],
  },
  completions: {
    passed: [event({ choices: [{ index: 0, text: 'a', finish_reason: null }] })],
    held: [event({ choices: [{ index: 0, text: '', finish_reason: 'stop' }] }), 'data: [DONE]\n\n'],
  },
  messages: {
    passed: [
      typed('message_start'),
      typed('content_block_start', { index: 0 }),
      typed('content_block_delta', { index: 0 }),
      typed('ping'),
    ],
    held: [
      typed('content_block_stop', { index: 0 }),
      typed('message_delta', { delta: { stop_reason: 'end_turn' } }),
      typed('message_stop'),
    ],
  },
  responses: {
    passed: [
      typed('response.created'),
      typed('response.output_item.added'),
      typed('response.output_text.delta', { delta: 'a' }),
    ],
    held: [
      typed('response.output_text.done'),
      typed('response.content_part.done'),
      typed('response.output_item.done'),
      typed('response.completed', { response: { output: [] } }),
    ],
  },
}

test('if only the last event is held, finish reason and usage are not', () => {
  const ends: [string[], string][] = [
    [[chat('a'), chat(undefined, 'stop'), event({ choices: [], usage: {} })], 'data: [DONE]\n\n'],
    [
      [
        typed('content_block_delta', { index: 0 }),
        typed('content_block_stop', { index: 0 }),
        typed('message_delta', { delta: { stop_reason: 'end_turn' } }),
      ],
      typed('message_stop'),
    ],
    [
      [typed('response.output_text.done'), typed('response.output_item.done')],
      typed('response.completed', { response: { output: [] } }),
    ],
    [[chat('a')], event({ error: { message: 'broken' } })],
  ]
  for (const [passed, last] of ends) {
    const ending = new HeldEnding(lastEvent)
    expect(decode(ending.push(encode(passed.join('') + last)))).toBe(passed.join(''))
    expect(decode(ending.rest())).toBe(last)
  }
})

for (const [name, { passed, held }] of Object.entries(dialects)) {
  test(`${name}: everything from the finish reason on is held until the end`, () => {
    const stream = [...passed, ...held].join('')
    for (const size of [1, 7, 100, stream.length]) {
      const ending = new HeldEnding()
      let seen = ''
      for (let at = 0; at < stream.length; at += size) {
        seen += decode(ending.push(encode(stream.slice(at, at + size))))
      }
      expect(seen).toBe(passed.join(''))
      expect(decode(ending.rest())).toBe(held.join(''))
      expect(ending.rest()).toEqual([])
    }
  })
}

test('the end of one part is released by the part after it, in order', () => {
  const ending = new HeldEnding()
  const push = (text: string) => decode(ending.push(encode(text)))
  const [stop, start] = [typed('content_block_stop'), typed('content_block_start')]
  expect(push(stop)).toBe('')
  expect(push(typed('ping'))).toBe('')
  expect(push(start)).toBe(stop + typed('ping') + start)
  const [first, second] = [chat(undefined, 'stop', 0), chat('more', null, 1)]
  expect(push(first)).toBe('')
  expect(push(second)).toBe(first + second)
})

test('comments and data that is not JSON pass while nothing is held', () => {
  const ending = new HeldEnding()
  const text = ': waiting\n\ndata: not JSON\n\n'
  expect(decode(ending.push(encode(text)))).toBe(text)
  expect(ending.rest()).toEqual([])
})

test('an error event ends the answer too', () => {
  const ending = new HeldEnding()
  const error = event({ error: { message: 'engine failed' } })
  expect(ending.push(encode(error))).toEqual([])
  expect(decode(ending.rest())).toBe(error)
})

test('held bytes survive reuse of the buffer they arrived in', () => {
  const ending = new HeldEnding()
  const bytes = encode(`${chat(undefined, 'stop')}data: [DO`)
  ending.push(bytes)
  bytes.fill(0)
  ending.push(encode('NE]\n\n'))
  expect(decode(ending.rest())).toBe(`${chat(undefined, 'stop')}data: [DONE]\n\n`)
})
