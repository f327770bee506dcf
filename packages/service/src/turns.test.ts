import { expect, test } from 'bun:test'
import { giveTurn } from './turns.ts'

/** Lets each of these do three steps of work; returns all steps, and those of the event loop. */
async function work(all: readonly { readonly name: string; readonly caller: string }[]) {
  const steps: string[] = []
  let passes = 0
  let isDone = false
  const look = () => {
    passes++
    if (!isDone) setImmediate(look)
  }
  setImmediate(look)
  const three = async ({ name, caller }: (typeof all)[number]) => {
    for (let at = 0; at < 3; at++) {
      await giveTurn(caller)
      steps.push(name)
    }
  }
  await Promise.all(all.map(three))
  isDone = true
  return { steps: steps.join(''), passes }
}

test('one of many goes on between two looks at the network, in the order in which they asked', async () => {
  const each = await work([...'abcd'].map((name) => ({ name, caller: name })))
  expect(each.steps).toBe('abcdabcdabcd')
  // Twelve turns: with a turn for each of the four in every pass it would be three passes.
  expect(each.passes).toBeGreaterThanOrEqual(11)
  const one = await work([...'abcd'].map((name) => ({ name, caller: 'one' })))
  expect([one.steps, one.passes >= 11]).toEqual(['abcdabcdabcd', true])
})

test('a caller with many requests does not delay another', async () => {
  const many = [...'abcdefgh'].map((name) => ({ name, caller: 'many' }))
  const { steps } = await work([...many, { name: 'X', caller: 'other' }])
  expect(steps).toBe('aXbXcXdefghabcdefghabcdefgh')
})
