/** Conversations at rest: encrypted in this browser with a non-extractable key that sign-out deletes. */

const databaseName = 'privatemode-conversations'
const stores = { keys: 'keys', sealed: 'sealed' } as const

type Sealed = { readonly iv: Uint8Array<ArrayBuffer>; readonly bytes: ArrayBuffer }

/** What was saved for this member; undefined if there is nothing, or it can no longer be decrypted. */
export async function openVault(memberId: string): Promise<unknown> {
  const database = await openDatabase()
  try {
    const key = await get<CryptoKey>(database, stores.keys, memberId)
    const sealed = await get<Sealed>(database, stores.sealed, memberId)
    if (key === undefined || sealed === undefined) return undefined
    const { iv, bytes } = sealed
    const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, bytes)
    return JSON.parse(new TextDecoder().decode(opened))
  } catch {
    return undefined // of another version, or damaged: treated as deleted
  } finally {
    database.close()
  }
}

export async function saveToVault(memberId: string, value: unknown): Promise<void> {
  const database = await openDatabase()
  try {
    const key = (await get<CryptoKey>(database, stores.keys, memberId)) ?? (await makeKey())
    const iv = crypto.getRandomValues(new Uint8Array(12))
    const plain = new TextEncoder().encode(JSON.stringify(value))
    const bytes = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, plain)
    await put(database, memberId, key, { iv, bytes })
  } finally {
    database.close()
  }
}

/** Deletes what others saved in this browser: someone may have left it without signing out. */
export async function keepOnly(memberId: string): Promise<void> {
  const database = await openDatabase()
  try {
    await deleteOthers(database, memberId)
  } finally {
    database.close()
  }
}

/** Deletes all keys and the data encrypted with them, of every member. */
export function forgetVault(): Promise<void> {
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(databaseName)
    // Another tab that has it open closes it when notified of this.
    request.onsuccess = request.onerror = request.onblocked = () => resolve()
  })
}

const makeKey = (): Promise<CryptoKey> =>
  crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(databaseName, 1)
    request.onupgradeneeded = () => {
      for (const name of Object.values(stores)) request.result.createObjectStore(name)
    }
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      request.result.onversionchange = () => request.result.close()
      resolve(request.result)
    }
  })
}

function get<T>(database: IDBDatabase, store: string, id: string): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const request = database.transaction(store).objectStore(store).get(id)
    request.onerror = () => reject(request.error)
    request.onsuccess = () => resolve(request.result)
  })
}

function deleteOthers(database: IDBDatabase, id: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(Object.values(stores), 'readwrite')
    const others = [IDBKeyRange.upperBound(id, true), IDBKeyRange.lowerBound(id, true)]
    for (const store of Object.values(stores)) {
      for (const range of others) transaction.objectStore(store).delete(range)
    }
    transaction.onerror = transaction.onabort = () => reject(transaction.error)
    transaction.oncomplete = () => resolve()
  })
}

function put(database: IDBDatabase, id: string, key: CryptoKey, sealed: Sealed): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(Object.values(stores), 'readwrite')
    transaction.objectStore(stores.keys).put(key, id)
    transaction.objectStore(stores.sealed).put(sealed, id)
    transaction.onerror = transaction.onabort = () => reject(transaction.error)
    transaction.oncomplete = () => resolve()
  })
}
