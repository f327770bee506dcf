import { expect, test } from 'bun:test'
import { rejection, thrown } from './rejection.ts'

test('the error of a rejected promise is given, and a fulfilled one is a failure', async () => {
  const refused = new TypeError('refused')
  expect(await rejection(Promise.reject(refused))).toBe(refused)
  expect(await rejection(async () => Promise.reject(refused))).toBe(refused)
  expect(await thrown(Promise.reject(refused))).toThrow('refused')
  const outcome = await rejection(Promise.resolve(1)).catch((error) => error)
  expect(outcome).toMatchObject({ message: expect.stringContaining('was fulfilled') })
})
