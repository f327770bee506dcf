import { expect, test } from 'bun:test'
import { indexedDbStorage } from './indexed-db-storage.ts'

// What it stores is tested where there is a database: in browsers, with the shared suite.
test('a platform without a database is told so at once', () => {
  expect(() => indexedDbStorage()).toThrow(expect.objectContaining({ code: 'invalid_options' }))
})
