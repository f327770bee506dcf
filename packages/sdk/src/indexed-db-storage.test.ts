import { expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { type IndexedDb, indexedDbStorage } from './indexed-db-storage.ts'

// Storing is tested where there is a database: in browsers, with the shared suite.
test('a platform without IndexedDB is refused immediately', () => {
  expect(() => indexedDbStorage()).toThrow(expect.objectContaining({ code: 'invalid_options' }))
})

/** As much of IndexedDB as is used, with one store, whose connections can be closed. */
function fakeDatabase() {
  const kept = new Map<string, string>()
  const seen = { opened: 0, closed: 0, failure: 'InvalidStateError' }
  const soon = <T>(result: T) => {
    const pending = { result, error: null, onsuccess: null, onerror: null, onupgradeneeded: null }
    queueMicrotask(() => (pending.onsuccess as (() => void) | null)?.())
    return pending
  }
  const transaction = () => {
    const begun = {
      error: null,
      oncomplete: null,
      onabort: null,
      objectStore: () => ({
        get: (key: string) => soon(kept.get(key)),
        put: (value: string, key: string) => soon(kept.set(key, value)),
      }),
    }
    queueMicrotask(() => (begun.oncomplete as (() => void) | null)?.())
    return begun
  }
  const open = () => {
    const number = ++seen.opened
    return soon({
      createObjectStore: () => {},
      transaction() {
        if (number <= seen.closed) throw new DOMException('it is closing', seen.failure)
        return transaction()
      },
    })
  }
  return { seen, factory: { open } as unknown as IndexedDb }
}

test('a connection that the browser has closed is opened again, once', async () => {
  const { seen, factory } = fakeDatabase()
  const storage = indexedDbStorage('test', factory)
  await storage.set('a', '1')
  expect(await storage.get('a')).toBe('1')
  expect(seen.opened).toBe(1)
  seen.closed = 1
  expect(await storage.get('a')).toBe('1')
  seen.closed = 2
  await storage.set('a', '2')
  expect(await storage.get('a')).toBe('2')
  expect(seen.opened).toBe(3)
  seen.closed = Number.POSITIVE_INFINITY
  expect(await rejection(storage.get('a'))).toMatchObject({ name: 'InvalidStateError' })
  seen.failure = 'NotFoundError'
  const before = seen.opened
  expect(await rejection(storage.get('a'))).toMatchObject({ name: 'NotFoundError' })
  expect(seen.opened).toBe(before)
})
