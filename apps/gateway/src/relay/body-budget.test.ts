import { expect, test } from 'bun:test'
import { BodyBudget } from './body-budget.ts'

test('a body is buffered if it is short enough and all buffered ones fit the budget', () => {
  const bodies = new BodyBudget({ maxBytes: 100, heldBytes: 10, heldBytesTotal: 25 })
  expect(bodies.hold(11)).toBe(false)
  expect([bodies.hold(10), bodies.hold(10), bodies.hold(6)]).toEqual([true, true, false])
  expect(bodies.hold(5)).toBe(true)
  expect(bodies.heldBytes).toBe(25)
  bodies.release(10)
  expect(bodies.hold(10)).toBe(true)
})
