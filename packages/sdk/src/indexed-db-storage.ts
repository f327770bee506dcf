/** Stores the state of the log in IndexedDB, which service workers can use too. */
import type { LogStorage } from './log-storage.ts'
import { PrivatemodeError } from './privatemode-error.ts'

// The part of IndexedDB used here, so that programs without browser types can read this file.
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
type Transaction = {
  readonly error: unknown
  objectStore(name: string): Store
  oncomplete: ((event: never) => void) | null
  onabort: ((event: never) => void) | null
}
type Database = {
  createObjectStore(name: string): unknown
  transaction(name: string, mode: 'readonly' | 'readwrite'): Transaction
}
type Opening = Pending<Database> & { onupgradeneeded: ((event: never) => void) | null }
export type IndexedDb = { open(name: string, version: number): Opening }

const storeName = 'checkpoints'

/** Stores the log's state in IndexedDB; throws `invalid_options` on platforms without it. */
export function indexedDbStorage(
  name = 'privatemode',
  factory: IndexedDb | undefined = (globalThis as { readonly indexedDB?: IndexedDb }).indexedDB,
): LogStorage {
  if (factory === undefined) {
    const facts = { retryable: false }
    throw new PrivatemodeError('invalid_options', 'this platform has no IndexedDB', facts)
  }
  let opened: Promise<Database> | undefined
  const database = async () => {
    opened ??= open(factory, name)
    try {
      return await opened
    } catch (error) {
      opened = undefined // a failed attempt may succeed next time
      throw error
    }
  }
  /** Browsers close connections, for example when site data is cleared: those are opened again, once. */
  const use = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    try {
      return await work(await database())
    } catch (error) {
      if ((error as { readonly name?: unknown }).name !== 'InvalidStateError') throw error
      opened = undefined
      return await work(await database())
    }
  }
  return {
    get: (key) =>
      use(async (database) => {
        const reading = database.transaction(storeName, 'readonly')
        const value = await settled(reading.objectStore(storeName).get(key))
        return typeof value === 'string' ? value : undefined
      }),
    set: (key, value) =>
      use(async (database) => {
        const writing = database.transaction(storeName, 'readwrite')
        writing.objectStore(storeName).put(value, key)
        await committed(writing)
      }),
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

/** A value is stored only once its transaction has committed: the disk may be full. */
function committed(writing: Transaction): Promise<void> {
  return new Promise((resolve, reject) => {
    writing.oncomplete = () => resolve()
    writing.onabort = () => reject(writing.error)
  })
}
