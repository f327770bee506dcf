/** Where the last checkpoint of the manifest log is stored, so that a rollback of the log is noticed. */
import type { CheckpointStore } from '@privatemode/attestation'

/** Stores short texts by name: in a file, a database or a browser's storage. */
export type LogStorage = {
  readonly get: (key: string) => Promise<string | undefined>
  readonly set: (key: string, value: string) => Promise<void>
}

/** Forgets when the page or program ends: until then the log is only checked against itself. */
export function memoryStorage(): LogStorage {
  const kept = new Map<string, string>()
  return {
    get: async (key) => kept.get(key),
    set: async (key, value) => void kept.set(key, value),
  }
}

/** The part of the Web Storage API used here. */
export type WebStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

/** Uses `localStorage`, or anything with the same interface. */
export function webStorage(storage: WebStorage): LogStorage {
  return {
    get: async (key) => storage.getItem(key) ?? undefined,
    set: async (key, value) => storage.setItem(key, value),
  }
}

/** A checkpoint is a signed note, which is text. Every log has its own key. */
export function checkpointsIn(storage: LogStorage, logKey: string): CheckpointStore {
  const key = `privatemode/log/${logKey}`
  return {
    async load() {
      const text = await storage.get(key)
      return text === undefined ? undefined : new TextEncoder().encode(text)
    },
    save: (checkpoint) => storage.set(key, new TextDecoder().decode(checkpoint)),
  }
}
