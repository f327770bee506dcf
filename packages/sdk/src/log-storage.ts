/** Where the last checkpoint of the manifest log is kept, so that the log cannot go back unnoticed. */
import type { CheckpointStore } from '@privatemode/attestation'

/** Keeps short texts by name: a file, a database, a browser's storage. */
export type LogStorage = {
  readonly get: (key: string) => Promise<string | undefined>
  readonly set: (key: string, value: string) => Promise<void>
}

/** Forgets with the page or program: the log can only be checked against itself meanwhile. */
export function memoryStorage(): LogStorage {
  const kept = new Map<string, string>()
  return {
    get: async (key) => kept.get(key),
    set: async (key, value) => void kept.set(key, value),
  }
}

/** What is used of `Storage`. */
export type WebStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

/** `localStorage`, or what has its form. */
export function webStorage(storage: WebStorage): LogStorage {
  return {
    get: async (key) => storage.getItem(key) ?? undefined,
    set: async (key, value) => storage.setItem(key, value),
  }
}

/** A checkpoint is a signed note, which is text. Every log has a place of its own. */
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
