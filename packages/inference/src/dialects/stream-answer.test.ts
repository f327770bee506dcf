/** How streams end: aborts, failures, accurate usage after each, and pacing before. */
import { describe, expect, test } from 'bun:test'
import { type ChunkIterator, EngineError, type JsonObject } from '../engine.ts'
import { ask, start } from '../testing/ask.ts'
import { chatModel, reportUsage, ScriptedEngine } from '../testing/scripted-engine.ts'

const chatPath = '/v1/chat/completions'
const chat = { model: chatModel.id, messages: [{ role: 'user', content: 'hi' }] }

describe('abort and usage', () => {
  test('check 24: a caller that disconnects aborts a call that is not streamed', async () => {
    const aborter = new AbortController()
    const engine = new ScriptedEngine({
      before: async (call) => {
        reportUsage(call, { promptTokens: 7, completionTokens: 2 })
        aborter.abort()
        if (call.signal.aborted) throw new EngineError('aborted', 'the caller went away')
      },
    })
    const { answer } = await ask(engine, chatPath, chat, { signal: aborter.signal })
    expect(answer.outcome()).toBe('aborted')
    expect(answer.usage()).toMatchObject({ promptTokens: 7, cachedTokens: 0, completionTokens: 2 })
  })

  test('check 23: a caller that stops reading stops the engine, and usage is known', async () => {
    let signal: AbortSignal | undefined
    const engine = new ScriptedEngine({
      deltas: [{ content: 'a' }, { content: 'b' }, { content: 'c' }],
      beforeChunk: (index, call) => {
        signal = call.signal
        reportUsage(call, { promptTokens: 9, completionTokens: index + 1 })
      },
    })
    const got = await start(engine, chatPath, { ...chat, stream: true })
    for await (const _ of got.body as AsyncIterable<Uint8Array>) break
    expect(signal?.aborted).toBe(true)
    expect(engine.hasStopped).toBe(true)
    expect(got.usage()).toMatchObject({ promptTokens: 9, cachedTokens: 0, completionTokens: 1 })
    expect(got.outcome()).not.toBe('complete')
  })

  test('a caller that leaves while the engine is silent does not wait for it', async () => {
    const engine = new ScriptedEngine({
      deltas: [{ content: 'a' }, { content: 'b' }],
      beforeChunk: (index, call) =>
        index === 0
          ? undefined
          : new Promise((_, reject) => {
              const gone = () => reject(new EngineError('aborted', 'gone'))
              if (call.signal.aborted) gone()
              else call.signal.addEventListener('abort', gone)
            }),
    })
    const got = await start(engine, chatPath, { ...chat, stream: true })
    const reader = (got.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    await reader.next()
    const waiting = reader.next()
    await reader.return?.()
    await waiting
    expect(engine.hasStopped).toBe(true)
  })

  test('check 25: an engine that dies in a stream yields an error event and no proper end', async () => {
    const dying = () =>
      new ScriptedEngine({
        deltas: [{ content: 'a' }, { content: 'b' }],
        beforeChunk: (index) => {
          if (index === 1) throw new EngineError('engine_failed', 'the model server died')
        },
      })
    const ends: [string, JsonObject][] = [
      [chatPath, { error: expect.objectContaining({ message: 'the model server died' }) }],
      ['/v1/messages', { type: 'error', error: expect.objectContaining({ type: 'api_error' }) }],
      ['/v1/responses', { type: 'response.failed' }],
    ]
    for (const [path, end] of ends) {
      const body = { ...chat, input: 'hi', stream: true, max_tokens: 5 }
      const { answer, events, text } = await ask(dying(), path, body)
      expect(events.at(-1)?.data).toMatchObject(end)
      expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed/)
      expect(answer.outcome()).toBe('failed')
    }
  })

  test('check 25: an engine that ends without a finish reason has failed', async () => {
    const cut = () => new ScriptedEngine({ deltas: [{ content: 'a' }], finishReason: null })
    for (const path of [chatPath, '/v1/messages', '/v1/responses']) {
      const body = { ...chat, input: 'hi', stream: true, max_tokens: 5 }
      const { text } = await ask(cut(), path, body)
      expect(text).toContain('ended before its answer did')
      expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed/)
    }
  })
})

describe('pace', () => {
  test('chunks that arrive together are sent together, followed by a failure after them', async () => {
    const deltas = ['a', 'b', 'c'].map((content) => ({
      choices: [{ index: 0, delta: { content } }],
    }))
    const together = (): ChunkIterator => {
      const waiting: JsonObject[] = structuredClone(deltas)
      return {
        async next() {
          const value = waiting.shift()
          if (value === undefined) throw new EngineError('engine_failed', 'the model server died')
          return { done: false, value }
        },
        ready: () => (waiting.length > 1 ? waiting.shift() : undefined),
      }
    }
    const engine = new ScriptedEngine()
    const chunks = { [Symbol.asyncIterator]: together }
    engine.call = async () => ({ kind: 'stream', chunks })
    const got = await start(engine, chatPath, { ...chat, stream: true })
    const pieces: string[] = []
    for await (const piece of got.body as AsyncIterable<Uint8Array>)
      pieces.push(new TextDecoder().decode(piece))
    const contents = pieces.map((text) => [...text.matchAll(/"content":"(.)"/g)].map((m) => m[1]))
    expect(contents).toEqual([['a', 'b'], ['c'], []])
    expect(pieces[2]).toContain('the model server died')
  })

  test('very many chunks that arrive together are split into bounded pieces, without loss', async () => {
    const waiting: JsonObject[] = Array.from({ length: 2000 }, (_, index) => ({
      choices: [
        { index: 0, delta: { content: `<${index}>` }, finish_reason: index < 1999 ? null : 'stop' },
      ],
    }))
    const take = () => waiting.shift()
    const chunks = {
      [Symbol.asyncIterator]: (): ChunkIterator => ({
        async next() {
          const value = take()
          return value === undefined ? { done: true, value } : { done: false, value }
        },
        ready: take,
      }),
    }
    const engine = new ScriptedEngine()
    engine.call = async () => ({ kind: 'stream', chunks })
    const got = await start(engine, chatPath, { ...chat, stream: true })
    const pieces: string[] = []
    for await (const piece of got.body as AsyncIterable<Uint8Array>)
      pieces.push(new TextDecoder().decode(piece))
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(17_000)
    const said = [...pieces.join('').matchAll(/<(\d+)>/g)].map(([, index]) => Number(index))
    expect(said).toEqual(Array.from({ length: 2000 }, (_, index) => index))
  })

  test('output before an invalid chunk is not lost', async () => {
    const given: JsonObject[] = [{ choices: [{ index: 0, delta: { content: 'a' } }] }]
    const bad = new Proxy({}, { get: () => undefined, deleteProperty: () => false })
    given.push(bad)
    const chunks = {
      [Symbol.asyncIterator]: (): ChunkIterator => ({
        next: async () => ({ done: false, value: given.shift()! }),
        ready: () => given.shift(),
      }),
    }
    const engine = new ScriptedEngine()
    engine.call = async () => ({ kind: 'stream', chunks })
    const { text, answer } = await ask(engine, chatPath, { ...chat, stream: true })
    expect(text).toMatch(/"content":"a".*"error"/s)
    expect(answer.outcome()).toBe('failed')
  })

  test('check 17: the first event is sent before the second token exists', async () => {
    let made = 0
    const engine = new ScriptedEngine({
      deltas: [{ content: 'a' }, { content: 'b' }],
      beforeChunk: (index) => {
        made = index + 1
      },
    })
    const got = await start(engine, chatPath, { ...chat, stream: true })
    const reader = (got.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    const first = await reader.next()
    expect(new TextDecoder().decode(first.value)).toContain('"content":"a"')
    expect(made).toBe(1)
    await reader.return?.()
  })

  test('check 19: the Accept header does not decide whether the answer is streamed', async () => {
    const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
    const headers = { accept: 'application/json' }
    const { events } = await ask(engine, chatPath, { ...chat, stream: true }, { headers })
    expect(events.at(-1)?.data).toBe('[DONE]')
  })

  test('check 79: every version, beta and query of the messages dialect is accepted', async () => {
    const body = { ...chat, max_tokens: 5 }
    for (const headers of [
      {},
      { 'anthropic-version': '2023-06-01' },
      { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2025,b-2026' },
    ]) {
      const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
      expect((await ask(engine, '/v1/messages?beta=true', body, { headers })).status).toBe(200)
    }
  })
})

describe('the first piece', () => {
  test('the role, which servers send alone, comes with the first token', async () => {
    const { promise: token, resolve: generate } = Promise.withResolvers<void>()
    const engine = new ScriptedEngine({
      deltas: [{ role: 'assistant', content: '' }, { content: 'first' }, { content: 'more' }],
      beforeChunk: (index) => (index === 1 ? token : undefined),
    })
    const starting = start(engine, chatPath, { ...chat, stream: true })
    setImmediate(generate)
    const { body } = await starting
    const [piece] = await Array.fromAsync(body as AsyncIterable<Uint8Array>)
    const text = new TextDecoder().decode(piece)
    expect(text).toContain('"role":"assistant"')
    expect(text).toContain('first')
    expect(text).not.toContain('more')
  })

  test('a failure after the role is a status', async () => {
    const engine = new ScriptedEngine({
      deltas: [{ role: 'assistant', content: '' }, { content: 'first' }],
      beforeChunk: (index) => {
        if (index === 1) throw new EngineError('invalid_value', 'the server refused the request')
      },
    })
    const { status, json } = await ask(engine, chatPath, { ...chat, stream: true })
    expect([status, json.error.code]).toEqual([400, 'invalid_value'])
  })
})
