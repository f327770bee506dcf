/** Chunks that arrive together can be consumed together; a failure appears after all that came before it. */
import { expect, test } from 'bun:test'
import { encodeEvent } from '@privatemode/protocol/api'
import { rejection } from '../../../../test/rejection.ts'
import type { EngineCall, EngineError, JsonObject } from '../engine.ts'
import { ServerStream } from './read-stream.ts'

const delta = (content: string): JsonObject => ({ choices: [{ index: 0, delta: { content } }] })
const events = (...given: (JsonObject | string)[]): Uint8Array =>
  Buffer.concat(
    given.map((one) => encodeEvent(typeof one === 'string' ? one : JSON.stringify(one))),
  )

/** A stream over pieces that are read one by one, and how often its slot was released. */
function streamOf(pieces: readonly Uint8Array[], call: Partial<EngineCall> = {}) {
  const { signal } = new AbortController()
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
  let closed = 0
  const request = { response: new Response(source), signal, heard: () => {}, close: () => closed++ }
  const asked = { endpoint: 'chat', body: { messages: [] }, signal, ...call } as const
  const told: string[] = []
  const reading = {
    isPerChoice: false,
    onFailure: async ({ code }: EngineError) => void told.push(code),
    onEnd: () => void told.push('end'),
    restMs: 1000,
  }
  return { stream: new ServerStream(request, asked, reading), closed: () => closed, told }
}

const contentOf = (chunk: JsonObject | undefined) =>
  (chunk?.choices as { delta: { content: string } }[] | undefined)?.[0]?.delta.content

test('chunks that arrive in one piece are ready after its first, others are awaited', async () => {
  const { stream, closed } = streamOf([
    events(delta('a'), delta('b'), delta('c')),
    events(delta('d'), '[DONE]', delta('late')),
  ])
  const taken: unknown[] = [stream.ready()]
  for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
    taken.push(contentOf(next.value), contentOf(stream.ready()), contentOf(stream.ready()))
    expect(stream.ready()).toBeUndefined()
  }
  expect(taken).toEqual([undefined, 'a', 'b', 'c', 'd', undefined, undefined])
  expect(closed()).toBe(1)
  expect(await stream.next()).toEqual({ done: true, value: undefined })
})

test('an empty event is skipped, also among others', async () => {
  const { stream } = streamOf([events('null', delta('a'), 'null', delta('b')), events('[DONE]')])
  expect(contentOf((await stream.next()).value)).toBe('a')
  expect(contentOf(stream.ready())).toBe('b')
  expect((await stream.next()).done).toBe(true)
})

test('a failure among chunks that arrive together appears after those before it, and only once', async () => {
  const { stream, closed, told } = streamOf([
    events(delta('a'), delta('b'), { error: { message: 'SECRET' } }, delta('c'), '[DONE]'),
  ])
  expect(contentOf((await stream.next()).value)).toBe('a')
  expect(contentOf(stream.ready())).toBe('b')
  expect([stream.ready(), stream.ready()]).toEqual([undefined, undefined])
  expect(closed()).toBe(0)
  expect(await rejection(stream.next())).toMatchObject({ code: 'engine_failed' })
  expect(closed()).toBe(1)
  expect(told).toEqual(['engine_failed', 'end'])
  expect([(await stream.next()).done, stream.ready()]).toEqual([true, undefined])
})

test('a reader that leaves gets nothing more, and the consumed pieces are counted', async () => {
  const usage: number[] = []
  const onUsage: EngineCall['onUsage'] = ({ completionTokens }) => usage.push(completionTokens)
  const { stream, closed } = streamOf([events(delta('a'), delta('b'), delta('c'))], { onUsage })
  await stream.next()
  stream.ready()
  await stream.return()
  await stream.return()
  expect([closed(), stream.ready(), (await stream.next()).done]).toEqual([1, undefined, true])
  expect(usage).toEqual([2])
})
