import { expect, test } from 'bun:test'
import { formatSlot, type RangeName, timeRange } from './time-range.ts'

const noon = new Date('2030-03-15T12:34:56Z')

test.each<[RangeName, number, string, string]>([
  ['day', 24, '2030-03-14T13:00:00.000Z', '2030-03-15T13:00:00.000Z'],
  ['week', 7, '2030-03-09T00:00:00.000Z', '2030-03-16T00:00:00.000Z'],
  ['month', 30, '2030-02-14T00:00:00.000Z', '2030-03-16T00:00:00.000Z'],
  ['year', 12, '2029-04-01T00:00:00.000Z', '2030-04-01T00:00:00.000Z'],
])('a %s has %i slots and ends after the current one', (name, count, from, to) => {
  const range = timeRange(name, noon)
  expect(range.slots.length).toBe(count)
  expect(range.from.toISOString()).toBe(from)
  expect(range.to.toISOString()).toBe(to)
})

test('days and months are labelled in UTC, as they are summed', () => {
  expect(formatSlot(new Date('2030-03-09T00:00:00Z'), 'day')).toBe('9 Mar')
  expect(formatSlot(new Date('2029-04-01T00:00:00Z'), 'month')).toBe('Apr 2029')
})
