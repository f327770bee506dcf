import { expect, test } from 'bun:test'
import { tcbStatuses, worstStatus } from './tcb-status.ts'

test('any bad part makes the overall status bad', () => {
  expect(worstStatus(['UpToDate', 'UpToDate', 'UpToDate'])).toBe('UpToDate')
  expect(worstStatus(['OutOfDate', 'UpToDate', 'UpToDate'])).toBe('OutOfDate')
  expect(worstStatus(['UpToDate', 'OutOfDate', 'UpToDate'])).toBe('OutOfDate')
  expect(worstStatus(['UpToDate', 'UpToDate', 'Revoked'])).toBe('Revoked')
})

test('the overall status is never better than any part, in any order', () => {
  const rank = (status: (typeof tcbStatuses)[number]) => tcbStatuses.indexOf(status)
  for (const left of tcbStatuses) {
    for (const right of tcbStatuses) {
      const worst = worstStatus([left, right])
      expect(rank(worst)).toBeGreaterThanOrEqual(Math.max(rank(left), rank(right)))
      expect(worstStatus([right, left])).toBe(worst)
      expect(worstStatus([worst, left, right])).toBe(worst)
    }
  }
})

test('different faults of two parts are both reported', () => {
  expect(worstStatus(['ConfigurationNeeded', 'OutOfDate'])).toBe('OutOfDateConfigurationNeeded')
  expect(worstStatus(['ConfigurationNeeded', 'SWHardeningNeeded'])).toBe(
    'ConfigurationAndSWHardeningNeeded',
  )
})
