/** Ranges that are moved together keep their bytes and their order. */
import { expect, test } from 'bun:test'
import { mergeRanges, viewOf } from './byte-range.ts'

test('neighbouring ranges of one buffer are merged in place; ranges of other buffers stay', () => {
  const [one, other] = [Buffer.from('3:abc|2:de|1:f|'), Buffer.from('4:ghij|')]
  const merged = mergeRanges([
    { bytes: one, start: 2, end: 5 },
    { bytes: one, start: 8, end: 10 },
    { bytes: one, start: 13, end: 14 },
    { bytes: other, start: 2, end: 6 },
  ])
  expect(merged.map((range) => viewOf(range).toString())).toEqual(['abcdef', 'ghij'])
  expect(merged.map(({ bytes }) => bytes)).toEqual([one, other])
  expect(mergeRanges([])).toEqual([])
})
