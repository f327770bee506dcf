import { expect, test } from 'bun:test'
import { createChance } from '../faults/random.ts'
import { slopeOf } from './slope.ts'

const minutes = (count: number, value: (minute: number) => number) =>
  Array.from({ length: count }, (_, minute) => [minute / 60, value(minute)] as const)

test('a leak is growth, also under noise and a saw tooth', () => {
  const { next } = createChance(7)
  const leak = slopeOf(minutes(120, (at) => 100 + at * 0.5 + (at % 10) * 2 + next() * 10))
  expect(leak.verdict).toBe('growth')
  expect(leak.perHour).toBeGreaterThan(25)
  expect(leak.perHour).toBeLessThan(35)
})

test('noise and a saw tooth alone are not growth', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { next } = createChance(seed)
    const level = slopeOf(minutes(120, (at) => 100 + (at % 10) * 2 + next() * 10))
    expect(['no growth', 'none shown']).toContain(level.verdict)
  }
})

test('a series too noisy to exclude growth is not reported as free of growth', () => {
  const { next } = createChance(5)
  expect(slopeOf(minutes(30, () => 100 + next() * 200)).verdict).toBe('none shown')
  expect(slopeOf(minutes(120, () => 100 + next())).verdict).toBe('no growth')
})

test('decay is not growth, and a handful of points is inconclusive', () => {
  expect(slopeOf(minutes(60, (at) => 200 - at)).verdict).toBe('no growth')
  expect(slopeOf(minutes(5, (at) => at)).verdict).toBe('too short to say')
})
