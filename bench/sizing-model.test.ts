import { expect, test } from 'bun:test'
import { assumptions, firstTokenP95, predict, sustainableRate } from './sizing-model.ts'

const cost = { requestMs: 1, chunkMs: 0.01 }
const costs = { proxy: cost, gateway: cost, worker: cost, postgres: cost }

test('a worker sustains no more than its engine can write or read', () => {
  const rate = sustainableRate(assumptions)
  expect(rate).toBeLessThanOrEqual(assumptions.decodeTokensPerSecond / assumptions.outputTokens)
  expect(rate).toBeGreaterThan(0.5 * (assumptions.decodeTokensPerSecond / assumptions.outputTokens))
  const slowReader = { ...assumptions, prefillTokensPerSecond: 1500 }
  expect(sustainableRate(slowReader)).toBeLessThan(1)
})

test('waiting grows with the rate, and the same simulation gives the same answer', () => {
  expect(firstTokenP95(1, assumptions)).toBeLessThan(firstTokenP95(5.5, assumptions))
  expect(firstTokenP95(3, assumptions)).toBe(firstTokenP95(3, assumptions))
  expect(firstTokenP95(50, assumptions)).toBe(Number.POSITIVE_INFINITY)
})

test('a hundred times the users need about a hundred times the cores, and never fewer than two of anything', () => {
  const few = predict(100, costs, 500)
  const many = predict(1_000_000, costs, 500)
  expect([few.gateways, few.workers]).toEqual([2, 2])
  expect(many.gatewayCores / few.gatewayCores).toBeCloseTo(10_000)
  expect(many.peakPerSecond).toBeCloseTo((30e6 / 86_400) * 4)
  expect(many.gatewayCores).toBeCloseTo((many.peakPerSecond * 0.005) / 0.5)
})
