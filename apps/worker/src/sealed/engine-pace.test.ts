import { expect, test } from 'bun:test'
import { EnginePace, timedPieces } from './engine-pace.ts'

test('the pace is the median of the last answers of a model', () => {
  const pace = new EnginePace()
  for (const ms of [20, 21, 19, 400]) pace.note('a', 1000, ms * 1000)
  expect(pace.msPerToken('a')).toBeUndefined() // too few
  pace.note('a', 1000, 22_000)
  expect(pace.msPerToken('a')).toBe(21)
  expect(pace.msPerToken('b')).toBeUndefined()
  for (let count = 0; count < 31; count++) pace.note('a', 100, 5_000)
  expect(pace.msPerToken('a')).toBe(50)
})

test('short answers, and those without tokens, do not count', () => {
  const pace = new EnginePace()
  for (let count = 0; count < 20; count++) pace.note('a', 99, 9_000)
  for (let count = 0; count < 20; count++) pace.note('a', 0, 9_000)
  for (let count = 0; count < 20; count++) pace.note('a', 500, Number.NaN)
  expect(pace.msPerToken('a')).toBeUndefined()
})

test('the engine is timed, not the reader of its pieces', async () => {
  const took: number[] = []
  for (const count of [2, 40]) {
    let nowMs = 1_000
    const engine = async function* () {
      nowMs += 500 // the prompt, or all of an answer that comes in few pieces
      for (let index = 0; index < count; index++) {
        yield index
        nowMs += 20
      }
    }
    const ended = (ms: number) => void took.push(ms)
    const timed = timedPieces(
      engine(),
      1_000,
      () => {},
      ended,
      () => nowMs,
    )
    for await (const _ of timed) nowMs += 60_000
  }
  expect(took).toEqual([540, 800])
})

test('an aborted answer is not timed', async () => {
  const took: number[] = []
  const seen: string[] = []
  const ended = (ms: number) => void took.push(ms)
  for await (const _ of timedPieces(['a', 'b'], 0, (piece) => void seen.push(piece), ended)) break
  expect([seen, took]).toEqual([['a'], []])
})
