import { afterEach, expect, test } from 'bun:test'
import { type AnswerTimeouts, createAnswerTimeouts } from './answer-timeouts.ts'

let watch: AnswerTimeouts
let nowMs = 0
afterEach(() => watch.stop())

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(1)
}

/** The timer is real and fast; it compares the test's own clock. */
function start() {
  nowMs = 0
  watch = createAnswerTimeouts({ silentMs: 60, totalMs: 1000 }, () => nowMs)
  const given: string[] = []
  const answer = watch.start(({ code, message }) => given.push(`${code}: ${message}`))
  return { given, answer }
}

test('an answer without progress is aborted once', async () => {
  const { given } = start()
  nowMs = 61
  await until(() => given.length > 0)
  expect(given).toEqual(['timeout: the backend stalled before the answer was complete'])
})

test('progress keeps an answer alive, up to its total', async () => {
  const { given, answer } = start()
  for (nowMs = 0; nowMs < 1000; nowMs += 50) {
    answer.progress()
    await Bun.sleep(1)
  }
  expect(given).toEqual([])
  nowMs = 1001
  answer.progress()
  await until(() => given.length > 0)
  expect(given[0]).toContain('the answer took too long')
})

test('a slow client does not count against the backend, and a finished answer is forgotten', async () => {
  const { given, answer } = start()
  answer.pause()
  const other = watch.start(() => given.push('ended'))
  other.end()
  const last: string[] = []
  nowMs = 500
  watch.start(() => last.push('looked'))
  nowMs = 600
  await until(() => last.length > 0)
  expect(given).toEqual([])
})
