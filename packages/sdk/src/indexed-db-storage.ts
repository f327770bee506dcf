/** Keeps the state of the log in a browser's database: for service workers too. */
import type { LogStorage } from './log-storage.ts'
import { PrivatemodeError } from './privatemode-error.ts'

// What is used of IndexedDB, so that programs without a browser's types can read this file.
type Pending<T> = {
  readonly result: T
  readonly error: unknown
  onsuccess: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
}
type Store = {
  get(key: string): Pending<unknown>
  put(value: string, key: string): Pending<unknown>
}
type Database = {
  createObjectStore(name: string): unknown
  transaction(name: string, mode: 'readonly' | 'readwrite'): { objectStore(name: string): Store }
}
type Opening = Pending<Database> & { onupgradeneeded: ((event: never) => void) | null }
export type IndexedDb = { open(name: string, version: number): Opening }

const storeName = 'checkpoints'

export function indexedDbStorage(
  name = 'privatemode',
  factory: IndexedDb | undefined = (globalThis as { readonly indexedDB?: IndexedDb }).indexedDB,
): LogStorage {
  if (factory === undefined) {
    const facts = { retryable: false }
    throw new PrivatemodeError('invalid_options', 'this platform has no IndexedDB', facts)
  }
  let database: Promise<Database> | undefined
  const store = async (mode: 'readonly' | 'readwrite') => {
    database ??= open(factory, name)
    return (await database).transaction(storeName, mode).objectStore(storeName)
  }
  return {
    async get(key) {
      const value = await settled((await store('readonly')).get(key))
      return typeof value === 'string' ? value : undefined
    },
    async set(key, value) {
      await settled((await store('readwrite')).put(value, key))
    },
  }
}

function open(factory: IndexedDb, name: string): Promise<Database> {
  const opening = factory.open(name, 1)
  opening.onupgradeneeded = () => void opening.result.createObjectStore(storeName)
  return settled(opening)
}

function settled<T>(pending: Pending<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    pending.onsuccess = () => resolve(pending.result)
    pending.onerror = () => reject(pending.error)
  })
}
