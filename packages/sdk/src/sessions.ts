/** Sessions with verified workers, separate for each API key: no two keys share an encapsulation. */
import { type AttestedWorker, isAttestedWorker } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import { type Bytes, establishSession, type Session } from '@privatemode/protocol/envelope'

type KeySessions = {
  // Weak: a worker that is verified again is a new object, and its old session is dropped with the
  // old one.
  readonly ready: WeakMap<AttestedWorker, Session>
  readonly pending: WeakMap<AttestedWorker, Promise<Session>>
}

export class Sessions {
  readonly #maxKeys: number
  readonly #byKey = new Map<string, KeySessions>()
  readonly #random: ((length: number) => Bytes) | undefined

  /**
   * Without `random`, the platform's generator is used. Sessions are kept for `maxKeys` API keys;
   * those of the least recently used key are evicted first.
   */
  constructor(random?: (length: number) => Bytes, maxKeys = 4096) {
    this.#random = random
    this.#maxKeys = maxKeys
  }

  get(apiKey: string, worker: AttestedWorker): Session | undefined {
    return this.#byKey.get(apiKey)?.ready.get(worker)
  }

  /** Makes one encapsulation for all waiting requests. */
  establish(apiKey: string, worker: AttestedWorker): Promise<Session> {
    if (!isAttestedWorker(worker)) {
      throw new ApiError('attestation_refused', 'only a verified worker can be sealed to')
    }
    const { ready, pending } = this.#sessionsOf(apiKey)
    const known = ready.get(worker)
    if (known !== undefined) return Promise.resolve(known)
    const waiting = pending.get(worker)
    if (waiting !== undefined) return waiting
    const started = establishSession(worker, this.#random)
      .then((session) => {
        ready.set(worker, session)
        return session
      })
      .finally(() => pending.delete(worker))
    pending.set(worker, started)
    return started
  }

  #sessionsOf(apiKey: string): KeySessions {
    const known = this.#byKey.get(apiKey)
    const sessions = known ?? { ready: new WeakMap(), pending: new WeakMap() }
    this.#byKey.delete(apiKey) // set again below: the map is ordered by use
    this.#byKey.set(apiKey, sessions)
    const [oldest] = this.#byKey.keys()
    if (this.#byKey.size > this.#maxKeys && oldest !== undefined) this.#byKey.delete(oldest)
    return sessions
  }
}
