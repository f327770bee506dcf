import { describe, expect, test } from 'bun:test'
import type { AnswerSink, ByteRange, HttpExchange } from '@privatemode/http'
import { ApiError } from '@privatemode/protocol/api'
import type { App } from '../app-state.ts'
import { RequestRecord } from '../inbound/request-record.ts'
import { ProxiedCall } from './proxied-call.ts'
import { type ShapedLeg, shapedLeg } from './shaped-leg.ts'

const rangeOf = (text: string): ByteRange => {
  const bytes = Buffer.from(text)
  return { bytes, start: 0, end: bytes.length }
}

/** Anything that is called and whose result does not matter. */
const unheeded: unknown = new Proxy(() => unheeded, {
  get: (_, name) => (name === 'then' ? undefined : unheeded),
})

type Attack = 'forged' | 'truncated'

/**
 * Plays a backend whose answer arrives in one read: its head, its data, the mark that it is whole,
 * and then either bytes that were changed in transit or an end that is not authentic. Returns what
 * the application got.
 */
async function answerDespite(
  attack: Attack,
  stream: boolean,
  data: Uint8Array = Buffer.from('data: all of it\n\n'),
): Promise<string> {
  const type = stream ? 'text/event-stream' : 'application/json'
  const said: string[] = []
  const hear = (pieces: readonly Uint8Array[]) => {
    for (const piece of pieces) said.push(Buffer.from(piece).toString())
    return true
  }
  const exchange = {
    begun: false,
    beginChunks(_head: string, pieces: readonly Uint8Array[]) {
      exchange.begun = true
      return hear(pieces)
    },
    begin: (_head: string, { bytes, start, end }: ByteRange) => hear([bytes.subarray(start, end)]),
    writeChunk: hear,
    endChunks: (pieces: readonly Uint8Array[] = []) => hear([...pieces, Buffer.from('(end)')]),
    finish: () => hear([Buffer.from('(end)')]),
  }
  const sink = Promise.withResolvers<AnswerSink>()
  const sealed = {
    requestId: 'r',
    request: { next: () => undefined, opener: { openedBytes: 0, holdsBytes: true } },
  }
  const app = {
    shape: 'default',
    heartbeats: unheeded,
    answers: unheeded,
    log: unheeded,
    metrics: unheeded,
    formatMessage: () => undefined,
    client: {
      begin: () => ({
        prepare: () => sealed,
        step(bytes: Uint8Array) {
          if (Buffer.from(bytes).toString() === 'forged') {
            throw new ApiError('response_not_authentic', 'the answer was modified in transit')
          }
          const headers = { 'content-type': type }
          const head = { status: 200, headers }
          return [{ kind: 'head', head }, { kind: 'data', bytes: data }, { kind: 'whole' }]
        },
        finish() {
          throw new ApiError('worker_unreachable', 'the answer stopped before its end')
        },
        pauseAfter: () => undefined,
      }),
    },
    backend: {
      take: () => ({
        abandon: () => {},
        send: (_message: unknown, given: AnswerSink) => sink.resolve(given),
      }),
    },
  }
  new ProxiedCall({
    app: app as unknown as App,
    exchange: exchange as unknown as HttpExchange,
    dialect: 'openai',
    record: new RequestRecord('r', 'POST', '/v1/chat/completions'),
    call: {
      ...{ path: '/v1/chat/completions', model: 'm', stream, apiKey: 'k' },
      body: new Uint8Array(8),
    },
    answerError: (error) => said.push(String(error)),
  }).start()
  const fields = new Map([['content-type', 'application/privatemode-sealed']])
  const head = { status: 200, fields } as unknown as Parameters<AnswerSink['head']>[0]
  const answer = await sink.promise
  if (attack === 'forged') answer.head(head, [rangeOf('sealed'), rangeOf('forged')], false)
  else answer.head(head, [rangeOf('sealed')], true)
  return said.join('')
}

describe.each(['forged', 'truncated'] as const)('padding that is %s in the same read', (attack) => {
  test('takes nothing from a whole answer', async () => {
    expect(await answerDespite(attack, false)).toBe('data: all of it\n\n(end)')
  })

  test('does not hide that a whole answer is too long', async () => {
    const long = { length: 300 * 1024 * 1024 } as Uint8Array
    expect(await answerDespite(attack, false, long)).toContain('the answer is longer than')
  })

  test('takes nothing from a stream', async () => {
    expect(await answerDespite(attack, true)).toBe('data: all of it\n\n(end)')
  })
})

test('a stream that begins before its answer logs the id that the client has, and nothing it wrote', async () => {
  const begun = Promise.withResolvers<string>()
  const exchange = {
    begun: false,
    beginChunks(head: string) {
      exchange.begun = true
      begun.resolve(head)
      return true
    },
    writeChunk: () => true,
  }
  const sealing = Promise.withResolvers<unknown>()
  const sent = Promise.withResolvers<void>()
  const leg = { ...(shapedLeg('default') as ShapedLeg), beginAfterMs: 0 }
  const send = () => sent.resolve()
  const app = {
    ...{ leg, shape: 'default', heartbeats: unheeded, answers: unheeded },
    ...{ log: unheeded, metrics: unheeded, formatMessage: () => undefined },
    client: { begin: () => ({ prepare: () => sealing.promise }) },
    backend: { take: () => ({ abandon: () => {}, send }) },
  }
  const record = new RequestRecord('first', 'POST', '/v1/chat/completions')
  new ProxiedCall({
    app: app as unknown as App,
    exchange: exchange as unknown as HttpExchange,
    dialect: 'openai',
    record,
    call: {
      ...{ path: '/v1/chat/completions', model: 'words of a client', stream: true, apiKey: 'k' },
      body: new Uint8Array(8),
    },
    answerError: () => {},
  }).start()
  expect(await begun.promise).toContain('x-request-id: first\r\n')
  sealing.resolve({ requestId: 'second', request: { next: () => undefined } })
  await sent.promise
  const { requestId, sealedRequestId, model } = record
  expect({ requestId, sealedRequestId, model }).toEqual({
    ...{ requestId: 'first', sealedRequestId: 'second' },
    model: undefined,
  })
})
