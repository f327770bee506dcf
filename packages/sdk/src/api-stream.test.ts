import { expect, test } from 'bun:test'
import type { Bytes } from '@privatemode/protocol/envelope'
import { rejection, thrown } from '../../../test/rejection.ts'
import { ApiStream } from './api-stream.ts'
import type { ReceiptedAnswer } from './receipted-answer.ts'

type Piece = string | Error

function streamOf(...pieces: Piece[]) {
  let cancelled = 0
  const answer = {
    requestId: 'r1',
    async next(): Promise<Bytes[] | undefined> {
      const piece = pieces.shift()
      if (piece instanceof Error) throw piece
      return piece === undefined ? undefined : [new TextEncoder().encode(piece)]
    },
    async cancel() {
      cancelled++
    },
  }
  const stream = new ApiStream<{ n: number }>(answer as unknown as ReceiptedAnswer)
  return { stream, cancelled: () => cancelled }
}

async function collect(stream: ApiStream<{ n: number }>): Promise<number[]> {
  const seen: number[] = []
  for await (const { n } of stream) seen.push(n)
  return seen
}

test('events arrive in order, however they are chunked, without the end marker', async () => {
  const { stream, cancelled } = streamOf(
    'data: {"n":1}\n\nda',
    'ta: {"n":2}\n\n',
    'data: [DONE]\n\n',
  )
  expect(await collect(stream)).toEqual([1, 2])
  expect(cancelled()).toBe(0)
})

test('comments and named events without data yield no values', async () => {
  const { stream } = streamOf(': wait\n\nevent: x\ndata: {"n":3}\n\n')
  expect(await collect(stream)).toEqual([3])
})

test.each([
  ['data: {"error":{"code":"engine_failed","message":"m"}}\n\n', 'engine_failed'],
  ['event: error\ndata: {"type":"error","error":{"type":"x","message":"m"}}\n\n', 'internal_error'],
  ['data: {"n":\n\n', 'upstream_error'],
  ['data: {"n":1}\n', 'upstream_error'],
])('a stream that sends %p throws %p', async (text, code) => {
  const { stream } = streamOf(text)
  const failure = await collect(stream).catch((error) => error)
  expect(failure).toMatchObject({ name: 'PrivatemodeError', code, requestId: 'r1' })
  expect(`${failure.message}${failure.cause?.message ?? ''}`).not.toContain('"n"')
})

test('leaving the loop or failing stops the generation', async () => {
  const left = streamOf('data: {"n":1}\n\n', 'data: {"n":2}\n\n')
  for await (const _ of left.stream) break
  expect(left.cancelled()).toBe(1)
  const failed = streamOf(new Error('cut'))
  expect(await thrown(collect(failed.stream))).toThrow('cut')
  expect(failed.cancelled()).toBe(1)
})

test('a stream can only be read once', async () => {
  const { stream } = streamOf('data: {"n":1}\n\n')
  await collect(stream)
  expect(await thrown(collect(stream))).toThrow(TypeError)
})

test('an event that never ends fails with a code', async () => {
  const { stream, cancelled } = streamOf(`data: ${'x'.repeat(17 * 1024 * 1024)}`)
  expect(await rejection(collect(stream))).toMatchObject({
    name: 'PrivatemodeError',
    code: 'answer_too_large',
  })
  expect(cancelled()).toBe(1)
})
