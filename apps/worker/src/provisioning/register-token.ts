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
    this.#isAccepted = true
    this.deliver(secret, true)
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

  /** Returns false if the token can no longer be replaced. A wrong one can: the gateway refused it. */
  deliver(secret: Secret, isInitial = false): boolean {
    if (this.#isAccepted && !isInitial) return false
    this.#secret = secret
    this.#delivered.resolve()
    return true
  }
}
