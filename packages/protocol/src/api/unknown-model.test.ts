import { expect, test } from 'bun:test'
import { unknownModel } from './unknown-model.ts'

test('the error for an unknown model lists the available ones', () => {
  const error = unknownModel('nope', ['a', 'b'])
  expect(error).toMatchObject({ code: 'model_not_found', status: 404, param: 'model' })
  expect(error.message).toBe('the model "nope" does not exist; choose one of: a, b')
  expect(unknownModel('nope', []).message).toEndWith('there are no models')
})

test('the message stays short however many models there are and however long their names are', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `${index}${'x'.repeat(5_000)}`)
  const { message } = unknownModel('y'.repeat(5_000), many)
  expect(message.length).toBeLessThan(4_000)
  expect(message).toEndWith('and 4988 more')
})
