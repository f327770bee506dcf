/**
 * The worker's register token: set at startup, or delivered sealed after an operator verified the
 * worker.
 */
import type { Secret } from '@privatemode/service'

export class RegisterToken {
  #secret: Secret | undefined
  /** A gateway has accepted the token: from then on it cannot be replaced. */
  #isAccepted = false
  readonly #delivered = Promise.withResolvers<void>()

  constructor(secret?: Secret) {
    if (secret === undefined) return
    this.#set(secret)
    this.#isAccepted = true
  }

  /** Resolves once there is a token. */
  get delivered(): Promise<void> {
    return this.#delivered.promise
  }

  /** Call only after {@link delivered}. */
  current(): Secret {
    if (this.#secret === undefined) throw new Error('there is no register token yet')
    return this.#secret
  }

  accepted(): void {
    this.#isAccepted = true
  }

  /** Returns false if the token can no longer be replaced; one that the gateway refused can be. */
  deliver(secret: Secret): boolean {
    if (this.#isAccepted) return false
    this.#set(secret)
    return true
  }

  #set(secret: Secret): void {
    this.#secret = secret
    this.#delivered.resolve()
  }
}
