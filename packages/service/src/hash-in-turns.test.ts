import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { hashedAtOnce, hashInTurns } from './hash-in-turns.ts'

test.each([
  ['nothing', 0, 0],
  ['a short body', 1000, 0],
  ['a body of one turn', hashedAtOnce, 0],
  ['a long body', 2 * hashedAtOnce + 1, 2],
])('%s is hashed, with turns for others', async (_, length, expected) => {
  const bytes = Uint8Array.from({ length }, (_, at) => at)
  let turns = 0
  const digest = await hashInTurns(bytes, async () => {
    turns++
  })
  expect(digest).toBe(createHash('sha256').update(bytes).digest('hex'))
  expect(turns).toBe(expected)
})
