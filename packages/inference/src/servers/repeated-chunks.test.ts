/** Chunks read without parsing are the chunks that parsing yields, however a server writes them. */
import { describe, expect, test } from 'bun:test'
import { encodeEvent, SseDecoder } from '@privatemode/protocol/api'
import fc from 'fast-check'
import type { JsonObject } from '../engine.ts'
import { RepeatedFormat } from '../repeated-chunk.ts'
import { RepeatedChunks } from './repeated-chunks.ts'

type Read = { readonly chunks: JsonObject[]; readonly parsed: number }

/** As a stream is read: repeated events first, everything else parsed and learned. */
function read(pieces: readonly Uint8Array[], isJoined = false): Read {
  const decoder = new SseDecoder()
  const repeated = new RepeatedChunks(isJoined ? 64 : 1)
  const chunks: JsonObject[] = []
  let parsed = 0
  for (const piece of pieces) {
    decoder.add(piece)
    for (;;) {
      const run = repeated.take(decoder)
      if (run !== undefined) {
        chunks.push(run.chunk)
        continue
      }
      const event = decoder.next()
      if (event === undefined) break
      const chunk = JSON.parse(event.data)
      parsed++
      repeated.learn(event.data, chunk)
      chunks.push(structuredClone(chunk))
      chunk.choices?.forEach((choice: JsonObject) => {
        Object.assign(choice.delta ?? {}, { role: 'assistant' }) // readers modify what they get
      })
    }
  }
  return { chunks, parsed }
}

const bytesOf = (chunks: readonly JsonObject[], space = '') =>
  Buffer.concat(
    chunks.map((chunk) =>
      encodeEvent(
        JSON.stringify(chunk).replaceAll('":', `":${space}`).replaceAll(',"', `,${space}"`),
      ),
    ),
  )

const spoken = (content: string, completion = 1): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
  usage: { prompt_tokens: 9, total_tokens: 9 + completion, completion_tokens: completion },
})
/** As vLLM writes it: id, time and model before the text. */
const timeFirst = ({ id, object, created, model, ...rest }: JsonObject): JsonObject => ({
  ...{ id, object, created, model },
  ...rest,
})
const plain = (chunks: readonly JsonObject[]) => JSON.parse(JSON.stringify(chunks))

describe('repeated chunks', () => {
  test('only the first of many chunks that differ in text and counts is parsed', () => {
    for (const space of ['', ' ']) {
      const sent = Array.from({ length: 20 }, (_, at) => spoken(`word ${at} é`, at))
      const { chunks, parsed } = read([bytesOf(sent, space)])
      expect(plain(chunks)).toEqual(sent)
      expect(parsed).toBe(1)
    }
  })

  test('streams whose counts are written differently do not affect each other', () => {
    const other = (content: string, at: number): JsonObject => ({
      ...spoken(content),
      usage: { prompt_tokens: 9, completion_tokens: at, details: { cached_tokens: at } },
    })
    const texts = Array.from({ length: 5 }, (_, at) => `word ${at}`)
    const streams = [texts.map(spoken), texts.map(other)]
    for (const sent of [...streams, ...streams]) {
      const { chunks, parsed } = read([bytesOf(sent)])
      expect(plain(chunks)).toEqual(sent)
      expect(parsed).toBe(1)
    }
  })

  test('streams that differ in id and time from the one before are not parsed at all', () => {
    const stream = (id: string, created: number): JsonObject[] =>
      Array.from({ length: 5 }, (_, at) => ({ ...spoken(`word ${at}`, at), id, created }))
    const streams = [
      stream('chatcmpl-1', 1),
      stream('chatcmpl-c0ffee', 1_763_000_000),
      stream('gen:2.b', 0),
      stream('an id with spaces', 2),
      stream('an id that "escapes"', 3),
      stream('chatcmpl-2', -4),
      stream('chatcmpl-3', 5),
    ]
    for (const space of ['', ' ']) {
      const reads = streams.map((sent) => read([bytesOf(sent.map(timeFirst), space)]))
      expect(reads.map(({ chunks }) => plain(chunks))).toEqual(streams)
      expect(reads.map(({ parsed }) => parsed)).toEqual([1, 0, 0, 1, 1, 1, 0])
    }
  })

  test('streams of a few models that take turns are parsed once for each model', () => {
    const stream = (model: string, created: number): JsonObject[] => [
      timeFirst({ ...spoken(`by ${model}`), created, model }),
    ]
    const inTurns = (...models: string[]) =>
      [1, 2, 3].map((created) =>
        models.map((model) => {
          const sent = stream(model, created)
          const { chunks, parsed } = read([bytesOf(sent)])
          expect(plain(chunks)).toEqual(sent)
          return parsed
        }),
      )
    expect(inTurns('m1', 'm2', 'm3')).toEqual([
      [1, 1, 1],
      [0, 0, 0],
      [0, 0, 0],
    ])
    // What is kept is bounded.
    expect(inTurns('n1', 'n2', 'n3', 'n4', 'n5').flat()).toEqual(Array(15).fill(1))
  })

  test('a form that is used again has nothing of the stream it was learned from', () => {
    const sent = ['secret', 'second'].map((text) => timeFirst({ ...spoken(text), created: 1 }))
    read([bytesOf(sent.slice(0, 1))])
    const { chunks, parsed } = read([bytesOf(sent.slice(1))])
    expect(parsed).toBe(0)
    expect(Bun.inspect(chunks, { depth: 9 })).toContain('second')
    expect(Bun.inspect(chunks, { depth: 9 })).not.toContain('secret')
  })

  test('an event that differs in any other character from the stream before is parsed', () => {
    const first = timeFirst({ ...spoken('a'), created: 1 })
    for (const other of [
      { ...first, model: 'b' },
      { ...first, object: 'text_completion' },
      { ...first, usage: undefined },
      { ...first, choices: [{ ...(first.choices as JsonObject[])[0], index: 1 }] },
      { ...first, error: { message: 'overloaded' } },
    ]) {
      read([bytesOf([first])])
      expect(read([bytesOf([other])]).parsed).toBe(1)
    }
  })

  test('chunks that arrive together are joined, with the last counts', () => {
    const sent = ['a', 'b', 'c', 'd'].map((text, at) => spoken(text, at))
    const { chunks } = read([bytesOf(sent)], true)
    expect(plain(chunks)).toEqual([sent[0], spoken('bcd', 3)])
  })

  test('a chunk that says anything else is parsed', () => {
    const different: readonly ((chunk: JsonObject, choice: JsonObject) => void)[] = [
      (chunk) => (chunk.id = 'chatcmpl-2'),
      (chunk) => (chunk.error = { message: 'broken' }),
      (chunk) => (chunk.usage = null),
      (chunk) => (chunk.usage = { ...(chunk.usage as JsonObject), prompt_tokens: -1 }),
      (chunk) => (chunk.usage = { ...(chunk.usage as JsonObject), prompt_tokens: 1.5 }),
      (chunk) => (chunk.usage = { ...(chunk.usage as JsonObject), cached_tokens: 1 }),
      (chunk, choice) => (chunk.choices = [choice, { ...choice, index: 1 }]),
      (_, choice) => (choice.index = 1),
      (_, choice) => (choice.finish_reason = 'stop'),
      (_, choice) => (choice.logprobs = { content: [] }),
      (_, choice) => (choice.delta = { tool_calls: [{ index: 0, function: { arguments: '{' } }] }),
      (_, choice) => (choice.delta = { content: 'x', reasoning: 'y' }),
      (_, choice) => (choice.delta = { content: 'a "quoted" word, a \\ and a\nline' }),
    ]
    for (const change of different) {
      const other = structuredClone(spoken('b'))
      change(other, (other.choices as JsonObject[])[0] as JsonObject)
      const sent = [spoken('a'), other, spoken('c')]
      for (const isJoined of [false, true]) {
        expect(plain(read([bytesOf(sent)], isJoined).chunks)).toEqual(sent)
      }
    }
  })

  test('any stream is read as if every event were parsed, wherever it is cut', () => {
    const choice = fc.record(
      {
        index: fc.constantFrom(0, 0, 0, 1),
        delta: fc.oneof(
          fc.record({ content: fc.string({ unit: 'grapheme' }) }),
          fc.record({ content: fc.string(), role: fc.constant(null) }),
          fc.record({ reasoning: fc.string() }),
          fc.constant({ role: 'assistant', content: '' }),
        ),
        finish_reason: fc.constantFrom(null, null, null, 'stop'),
      },
      { requiredKeys: ['index', 'delta'] },
    )
    const usage = fc.record({
      prompt_tokens: fc.nat(),
      prompt_tokens_details: fc.option(fc.record({ cached_tokens: fc.nat() })),
    })
    const chunk = fc.record(
      {
        id: fc.constant('"content":"'),
        choices: fc.array(choice, { minLength: 1, maxLength: 1 }),
        usage: fc.option(usage),
      },
      { requiredKeys: ['id', 'choices'] },
    )
    const cuts = fc.array(fc.nat(), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 30 }), cuts, (sent, places) => {
        const bytes = bytesOf(sent as JsonObject[])
        const marks = [0, ...places.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)]
        const pieces = marks.map((from, at) => bytes.subarray(from, marks[at + 1]))
        const { chunks } = read(pieces)
        expect(chunks.map(withoutNull)).toEqual(plain(sent as JsonObject[]).map(withoutNull))
      }),
      { numRuns: 60 },
    )
  })
})

/** Readers do not tell `usage: null` from no usage. */
function withoutNull({ usage, ...rest }: JsonObject): JsonObject {
  return plain([usage === null || usage === undefined ? rest : { ...rest, usage }])[0]
}

test('a repeated chunk is formatted like any other', () => {
  const format = (chunk: JsonObject) => JSON.stringify({ ...chunk, usage: undefined, more: 1 })
  for (const field of ['content', 'reasoning']) {
    const sent = ['a', 'é "', 'c\u2028', 'd'].map((text) => {
      const chunk = spoken('')
      chunk.choices = [{ index: 0, delta: { [field]: text }, finish_reason: null }]
      return chunk
    })
    const { chunks } = read([bytesOf(sent)])
    const repeated = new RepeatedFormat(format)
    expect(chunks.map((chunk) => repeated.write(chunk))).toEqual(sent.map(format))
  }
})

test('a repeated chunk has the names of the API, as a parsed one has', () => {
  const sglang = (content: string): JsonObject => {
    const choice = { index: 0, delta: { content }, finish_reason: null, matched_stop: null }
    return { ...spoken(content), choices: [choice] }
  }
  const { chunks, parsed } = read([bytesOf(['a', 'b', 'c'].map(sglang))], true)
  expect(parsed).toBe(1)
  const format = new RepeatedFormat((chunk) => JSON.stringify(chunk))
  const [first, ...others] = chunks.map((chunk) => format.write(chunk))
  expect(first).toContain('matched_stop') // renamed by whoever parsed it
  expect(others.join('')).not.toContain('matched_stop')
  expect(others.join('')).toContain('stop_reason')
})

test('the first chunk of all is formatted by itself, whether it was parsed or not', () => {
  for (const stream of [1, 2]) {
    const sent = ['a', 'b', 'c'].map((text) =>
      timeFirst({ ...spoken(text), object: 'x', created: stream }),
    )
    let isFirst = true
    const repeated = new RepeatedFormat((chunk) => {
      const text = JSON.stringify([isFirst, chunk.choices])
      isFirst = false
      return text
    })
    const { chunks, parsed } = read([bytesOf(sent)], true)
    expect(parsed).toBe(2 - stream)
    const expected = sent.map(({ choices }, at) => JSON.stringify([at === 0, choices])).join('')
    expect(chunks.map((chunk) => repeated.write(chunk)).join('')).toBe(expected)
  }
})

test('chunks that were joined are written apart again, byte for byte', () => {
  const formats: readonly ((chunk: JsonObject) => string)[] = [
    (chunk) => JSON.stringify({ ...chunk, usage: undefined }),
    (chunk) => JSON.stringify([chunk.choices, chunk.choices]), // each text twice
    (chunk) => JSON.stringify(chunk.id), // and not at all
  ]
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }).map((any) => any.toWellFormed()),
    fc.constantFrom('\\', '"', '\\"},"', '\n', '\ud83d\ude00', '[text of a repeated chunk]', '$&'),
  )
  fc.assert(
    fc.property(fc.array(text, { maxLength: 90 }), fc.nat(), (texts, cut) => {
      const sent = texts.map((content, at) => spoken(content, at))
      const bytes = bytesOf(sent)
      const at = cut % (bytes.length + 1)
      const { chunks } = read([bytes.subarray(0, at), bytes.subarray(at)], true)
      for (const format of formats) {
        const repeated = new RepeatedFormat(format)
        const written = chunks.map((chunk) => repeated.write(chunk)).join('')
        expect(written).toBe(sent.map(format).join(''))
      }
    }),
    { numRuns: 60 },
  )
})
