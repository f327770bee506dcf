import { expect, test } from 'bun:test'
import { lengthCurve } from './length-curve.ts'

test('fewer lengths tell less and cost more, and one length tells nothing', () => {
  const curve = lengthCurve({ topics: 7, tokensPerSecond: 50 })
  const [fine, ...coarse] = curve
  expect(fine?.explained).toBeGreaterThan(0.99)
  const last = coarse.at(-1)
  expect(last?.explained).toBeCloseTo(0)
  expect(last?.areaAboveBase).toBeCloseTo(0)
  expect(last?.meanSeconds).toBeCloseTo(64)
  for (const one of coarse) expect(one.explained).toBeLessThan(fine?.explained ?? 0)
})
