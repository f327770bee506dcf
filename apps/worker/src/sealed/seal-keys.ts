/** The worker's seal keys: generated here, rotated before they expire, never written to disk. */
import { createHash } from 'node:crypto'
import { formatStatement, type ModelListing } from '@privatemode/attestation'
import {
  type Bytes,
  createSealKeyPair,
  type Eventually,
  equalBytes,
  formatHex,
  type SealKeyPair,
} from '@privatemode/protocol/envelope'

export type StatementFacts = {
  readonly workerId: string
  readonly receiptKey: Bytes
  readonly models: readonly ModelListing[]
  readonly engine: string
  readonly build: string
}

/** One seal key and the only statement that names it: a new statement always has a new key. */
export type SealKey = {
  readonly id: string
  readonly statement: Bytes
  readonly statementDigest: Bytes
  readonly expiresAt: Date
}

type HeldKey = SealKey & { readonly pair: SealKeyPair; readonly replaceAt: Date }

const lifetimeMs = 24 * 3_600_000
/** Clients hold sessions for less than an hour, so an old key outlives all its sessions. */
const replaceAfterMs = 12 * 3_600_000
/**
 * After this long without use, and at most twice as long, a session's next request costs a
 * decapsulation.
 */
const idleSessionMs = 10 * 60_000

export class SealKeys {
  readonly #facts: StatementFacts
  readonly #now: () => Date
  readonly #maxSessions: number
  #keys: HeldKey[] = []
  #making: Promise<HeldKey> | undefined
  /** Sessions used since `#sessionsSince`, and those last used in the interval before. */
  #sessions = new Map<string, Bytes>()
  #idleSessions = new Map<string, Bytes>()
  #sessionsSince = 0
  readonly #opening = new Map<string, Promise<Bytes | undefined>>()

  /** Caches at most this many decapsulation results. */
  constructor(facts: StatementFacts, now: () => Date, maxSessions = 20_000) {
    this.#facts = facts
    this.#now = now
    this.#maxSessions = maxSessions
  }

  /** The newest key; creates one if there is none or the newest is due for replacement. */
  async current(): Promise<SealKey> {
    const newest = this.#keys.at(-1)
    if (newest !== undefined && this.#now() < newest.replaceAt) return newest
    this.#making ??= this.rotate().finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  /** Creates a new key immediately; the old ones stay until they expire. */
  async rotate(): Promise<HeldKey> {
    const pair = await createSealKeyPair()
    const now = this.#now()
    const expiresAt = new Date(now.getTime() + lifetimeMs)
    const id = formatHex(pair.id)
    const statement = formatStatement({
      ...this.#facts,
      role: 'worker',
      sealKey: { id, kem: 'X-Wing', publicKey: pair.publicKey, expiresAt },
    })
    const statementDigest = new Uint8Array(createHash('sha256').update(statement).digest())
    const replaceAt = new Date(now.getTime() + replaceAfterMs)
    const key = { id, pair, statement, statementDigest, expiresAt, replaceAt }
    this.#keys = [...this.#keys.filter((held) => held.expiresAt > now), key]
    return key
  }

  /** Discards every key: nothing sealed until now can be opened again. */
  forget(): void {
    this.#keys = []
    this.#sessions.clear()
    this.#idleSessions.clear()
    this.#opening.clear()
  }

  /** The digest of the statement with which clients verified this key. */
  statementDigestOf(sealKeyId: Bytes): Bytes | undefined {
    return this.#find(sealKeyId)?.statementDigest
  }

  /**
   * The session secret for an encapsulation; cached, so that the KEM is not run for every request.
   */
  findSecret = (sealKeyId: Bytes, encapsulation: Bytes): Eventually<Bytes | undefined> => {
    const key = this.#find(sealKeyId)
    if (key === undefined) return undefined
    const name = createHash('sha256').update(sealKeyId).update(encapsulation).digest('latin1')
    const known = this.#recall(name)
    if (known !== undefined) return known
    return this.#opening.get(name) ?? this.#open(key, name, encapsulation)
  }

  #open(key: HeldKey, name: string, encapsulation: Bytes): Promise<Bytes | undefined> {
    const opening = key.pair
      .openSession(encapsulation, key.statementDigest)
      .then((secret) => {
        // Forgotten meanwhile: what was sealed to it may have been answered before.
        if (!this.#keys.includes(key)) return undefined
        this.#remember(name, secret)
        return secret
      })
      .finally(() => this.#opening.delete(name))
    this.#opening.set(name, opening)
    return opening
  }

  #recall(name: string): Bytes | undefined {
    const age = this.#now().getTime() - this.#sessionsSince
    // Setting the clock back expires them, too: it must not keep any session longer.
    if (age > idleSessionMs || age < 0) this.#setAside()
    const used = this.#sessions.get(name)
    if (used !== undefined) return used
    const idle = this.#idleSessions.get(name)
    if (idle !== undefined) this.#remember(name, idle)
    return idle
  }

  #remember(name: string, secret: Bytes): void {
    if (this.#sessions.size >= this.#maxSessions / 2) this.#setAside()
    this.#sessions.set(name, secret)
  }

  /** Drops sessions not used since the previous call. */
  #setAside(): void {
    this.#idleSessions = this.#sessions
    this.#sessions = new Map()
    this.#sessionsSince = this.#now().getTime()
  }

  #find(sealKeyId: Bytes): HeldKey | undefined {
    const now = this.#now()
    return this.#keys.find((key) => equalBytes(key.pair.id, sealKeyId) && key.expiresAt > now)
  }
}
