/** The key with which gateways authenticate relayed requests: kept in memory only, replaced every hour. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { relayKeyBytes } from '@privatemode/protocol/fleet'

/** A gateway learns the new key with the next lease renewal; the previous key stays valid as long again. */
const rotateMs = 3_600_000

/** Preparing a key costs as much as the MAC. */
type RelayKey = { readonly bytes: Uint8Array; readonly prepared: Bun.CryptoHasher }

export class RelayKeys {
  readonly #clock: () => number
  #current = createKey()
  #previous: RelayKey | undefined
  #madeAtMs: number

  /** `clock` is monotonic: setting the wall clock must not expire a key early. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
    this.#madeAtMs = clock()
  }

  /** The key to register with; called with every renewal. */
  current(): Uint8Array {
    if (this.#clock() - this.#madeAtMs >= rotateMs) {
      this.#previous = this.#current
      this.#current = createKey()
      this.#madeAtMs = this.#clock()
    }
    return this.#current.bytes
  }

  /** Whether the MAC was made with either key. */
  verify(text: string, mac: Uint8Array): boolean {
    return isMac(this.#current, text, mac) || isMac(this.#previous, text, mac)
  }
}

function createKey(): RelayKey {
  const bytes = randomBytes(relayKeyBytes)
  return { bytes, prepared: new Bun.CryptoHasher('sha256', bytes) }
}

function isMac(key: RelayKey | undefined, text: string, mac: Uint8Array): boolean {
  if (key === undefined) return false
  const expected = key.prepared.copy().update(text).digest()
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}
