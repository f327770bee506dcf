/** Persistence in a browser: the state of the log survives its page, and a rolled-back log is refused. */
import {
  indexedDbStorage,
  type LogStorage,
  type PrivatemodeError,
  webStorage,
} from '@privatemode/sdk'
import { type Case, equal, expect, fails, type SuiteConfig } from './case.ts'
import { connect } from './suite.ts'

// Programs without a browser's types read this file too.
type Opening<T> = { result: T; error: unknown; onsuccess?: () => void; onerror?: () => void }
type Databases = {
  open(name: string, version: number): Opening<{ close(): void }>
  deleteDatabase(name: string): Opening<unknown>
}

/** Made anew for every use, as a page that was opened again would. */
const lasting: Readonly<Record<string, () => LogStorage>> = {
  'a database': () => indexedDbStorage('privatemode-suite'),
  'local storage': () => webStorage(localStorage),
}

export const browserStorageCases: readonly Case[] = [
  ...Object.entries(lasting).map(([name, storage]) => ({
    name: `remembers the log in ${name}, and refuses one that differs from it`,
    async run(config: SuiteConfig) {
      const key = `privatemode/log/${config.logKey}`
      equal(await storage().get(key), undefined)
      await connect(config, { storage: storage() })
      const note = await storage().get(key)
      expect(note?.includes('\n\n— ') === true, 'a signed checkpoint was stored')
      await connect(config, { storage: storage() })
      equal(await storage().get(key), note)
      await storage().set(key, (note ?? '').replace(/^(.*)\n(\d+)\n/, '$1\n9\n'))
      const refused = await fails(() => connect(config, { storage: storage() }))
      equal((refused as PrivatemodeError).refusal, 'log_signature_invalid')
    },
  })),
  {
    name: 'keeps databases of different names apart',
    async run() {
      const [one, two] = ['one', 'two'].map((name) => indexedDbStorage(`privatemode-${name}`))
      await one?.set('key', 'a')
      await one?.set('key', 'b')
      equal(await one?.get('key'), 'b')
      equal(await two?.get('key'), undefined)
    },
  },
  {
    name: 'opens a database again after it could not be opened',
    async run() {
      const name = 'privatemode-newer'
      const { indexedDB } = globalThis as unknown as { indexedDB: Databases }
      const newer = await done(indexedDB.open(name, 2))
      newer.close()
      const storage = indexedDbStorage(name)
      equal(((await fails(() => storage.get('key'))) as Error).name, 'VersionError')
      await done(indexedDB.deleteDatabase(name))
      await storage.set('key', 'a')
      equal(await storage.get('key'), 'a')
    },
  },
]

function done<T>(request: Opening<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
