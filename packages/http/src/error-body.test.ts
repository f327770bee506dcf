import { expect, test } from 'bun:test'
import { ErrorBody } from './error-body.ts'

const range = (length: number) => ({ bytes: Buffer.alloc(length, 'e'), start: 0, end: length })

test('an error body is returned once it is whole', () => {
  const body = new ErrorBody()
  expect(body.add([range(10), range(20)], false)).toBeUndefined()
  expect(body.add([range(65_506)], true)).toBe('e'.repeat(65_536))
})

test('an error body over 64 KiB is empty as soon as it is too long, and stays so', () => {
  const body = new ErrorBody()
  expect(body.add([range(65_536)], false)).toBeUndefined()
  expect(body.add([range(1)], false)).toBe('')
  expect(body.add([range(1)], true)).toBe('')
})
