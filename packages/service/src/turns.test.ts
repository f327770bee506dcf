import { expect, test } from 'bun:test'
import { giveTurn } from './turns.ts'

test('one of many goes on between two looks at the network, in the order in which they asked', async () => {
  const steps: string[] = []
  let passes = 0
  let isDone = false
  const look = () => {
    passes++
    steps.push('look')
    if (!isDone) setImmediate(look)
  }
  const work = async (name: string) => {
    for (let at = 0; at < 3; at++) {
      await giveTurn()
      steps.push(name)
    }
  }
  setImmediate(look)
  await Promise.all(['a', 'b', 'c', 'd'].map(work))
  isDone = true
  expect(steps.filter((step) => step !== 'look')).toEqual([...'abcdabcdabcd'])
  // Twelve turns: with a turn for each of the four in every pass it would be three passes.
  expect(passes).toBeGreaterThanOrEqual(11)
})
