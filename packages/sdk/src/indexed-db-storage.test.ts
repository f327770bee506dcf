import { expect, test } from 'bun:test'
import { indexedDbStorage } from './indexed-db-storage.ts'

// Storing is tested where there is a database: in browsers, with the shared suite.
test('a platform without IndexedDB is refused immediately', () => {
  expect(() => indexedDbStorage()).toThrow(expect.objectContaining({ code: 'invalid_options' }))
})
