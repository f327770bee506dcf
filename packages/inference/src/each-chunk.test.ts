import { expect, test } from 'bun:test'
import { thrown } from '../../../test/rejection.ts'
import { eachChunk } from './each-chunk.ts'
import type { ChunkIterator, JsonObject } from './engine.ts'

/** Chunks in groups, and how often they were awaited and abandoned. */
function grouped(groups: readonly (readonly number[])[], failure?: Error) {
  const seen = { waits: 0, left: 0 }
  const waiting = groups.map((group) => [...group])
  const iterator = (): ChunkIterator => ({
    async next() {
      seen.waits++
      while (waiting[0]?.length === 0) waiting.shift()
      const at = waiting[0]?.shift()
      if (at === undefined && failure !== undefined) throw failure
      return at === undefined ? { done: true, value: undefined } : { done: false, value: { at } }
    },
    ready() {
      const at = waiting[0]?.shift()
      return at === undefined ? undefined : { at }
    },
    async return() {
      seen.left++
      return { done: true, value: undefined }
    },
  })
  return { seen, chunks: { [Symbol.asyncIterator]: iterator } }
}

test('all chunks are consumed in order, with one wait per group', async () => {
  const { seen, chunks } = grouped([[1, 2, 3], [4], [5, 6]])
  const taken: unknown[] = []
  await eachChunk(chunks, ({ at }: JsonObject) => taken.push(at))
  expect(taken).toEqual([1, 2, 3, 4, 5, 6])
  expect(seen.waits).toBe(4)
})

test('a failure is thrown after the chunks before it, and a consumer that throws ends the stream', async () => {
  const taken: unknown[] = []
  const broken = grouped([[1, 2]], new Error('broken'))
  expect(await thrown(eachChunk(broken.chunks, ({ at }) => taken.push(at)))).toThrow('broken')
  expect(taken).toEqual([1, 2])
  const { seen, chunks } = grouped([[1, 2]])
  const refusing = eachChunk(chunks, () => {
    throw new Error('no')
  })
  expect(await thrown(refusing)).toThrow('no')
  expect([seen.waits, seen.left]).toEqual([1, 1])
})
