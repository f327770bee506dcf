import { expect, test } from 'bun:test'
import { tcbStatuses, worstStatus } from './tcb-status.ts'

test('one bad part makes the whole bad, whichever part it is', () => {
  expect(worstStatus(['UpToDate', 'UpToDate', 'UpToDate'])).toBe('UpToDate')
  expect(worstStatus(['OutOfDate', 'UpToDate', 'UpToDate'])).toBe('OutOfDate')
  expect(worstStatus(['UpToDate', 'OutOfDate', 'UpToDate'])).toBe('OutOfDate')
  expect(worstStatus(['UpToDate', 'UpToDate', 'Revoked'])).toBe('Revoked')
})

test('the whole is never better than any part, in any order', () => {
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

test('different faults of two parts are both told', () => {
  expect(worstStatus(['ConfigurationNeeded', 'OutOfDate'])).toBe('OutOfDateConfigurationNeeded')
  expect(worstStatus(['ConfigurationNeeded', 'SWHardeningNeeded'])).toBe(
    'ConfigurationAndSWHardeningNeeded',
  )
})
