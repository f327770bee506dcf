/** The key that gateways authenticate relayed requests with: made in memory, never written, replaced every hour. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { relayKeyBytes } from '@privatemode/protocol/fleet'

/** A gateway knows the new key with the next renewal of the lease; the one before works as long again. */
const rotateMs = 3_600_000

export class RelayKeys {
  readonly #clock: () => number
  #current = randomBytes(relayKeyBytes)
  #previous: Buffer | undefined
  #madeAtMs: number

  /** `clock` is monotonic: a clock that is set must not end a key before its time. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
    this.#madeAtMs = clock()
  }

  /** What to register with; called with every renewal. */
  current(): Uint8Array {
    if (this.#clock() - this.#madeAtMs >= rotateMs) {
      this.#previous = this.#current
      this.#current = randomBytes(relayKeyBytes)
      this.#madeAtMs = this.#clock()
    }
    return this.#current
  }

  /** Whether one of both keys made the MAC. */
  verify(text: string, mac: Uint8Array): boolean {
    return isMac(this.#current, text, mac) || isMac(this.#previous, text, mac)
  }
}

function isMac(key: Buffer | undefined, text: string, mac: Uint8Array): boolean {
  if (key === undefined) return false
  const expected = createHmac('sha256', key).update(text).digest()
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}
