import { expect, test } from 'bun:test'
import { utf8 } from './bytes.ts'
import { parseReceipt } from './receipt.ts'

test('a receipt over 16 KiB is refused', () => {
  const signature = btoa('s'.repeat(64))
  const text = JSON.stringify({ record: btoa('{}'), rest: btoa('{}'), signature })
  const padded = (length: number) => utf8(text + ' '.repeat(length - text.length))
  expect(parseReceipt(padded(16 * 1024)).record).toEqual(utf8('{}'))
  expect(() => parseReceipt(padded(16 * 1024 + 1))).toThrow('at most 16384')
})
