/** Holds the manifest in force: loads it once for all who wait, and again when told or due. */
import { AttestationError, type Manifest, type ManifestSource } from '@privatemode/attestation'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { ClientEvent } from './options.ts'

const reloadAfterMs = 5 * 60_000
/** A manifest host that is out of reach is asked again after this. */
const retryAfterMs = 60_000

export class ManifestKeeper {
  readonly #source: ManifestSource
  readonly #now: () => Date
  readonly #onEvent: (event: ClientEvent) => void
  #current: Manifest | undefined
  #loadedAtMs = 0
  #loading: Promise<Manifest> | undefined
  #enforced:
    | { readonly digest: string; readonly at: Date; readonly done: Promise<void> }
    | undefined

  constructor(
    source: ManifestSource,
    now: () => Date,
    onEvent: (event: ClientEvent) => void = () => {},
  ) {
    this.#source = source
    this.#now = now
    this.#onEvent = onEvent
  }

  get current(): Manifest | undefined {
    return this.#current
  }

  /** Since when the current manifest has been enforced; undefined before the first verification. */
  get enforcedAt(): Date | undefined {
    return this.#enforced?.at
  }

  async get(): Promise<Manifest> {
    return this.#current ?? (await this.load())
  }

  /**
   * The manifest, loaded anew where that is due. A host that is merely out of reach does not end
   * the use of the manifest in force; a log that is wrong does.
   */
  async getCurrent(): Promise<Manifest> {
    const { due } = this
    if (this.#current === undefined || !due) return await this.get()
    try {
      return await this.load()
    } catch (error) {
      const unreachable = error instanceof AttestationError && error.code === 'log_unreachable'
      if (!unreachable || this.#current === undefined) throw error
      this.#loadedAtMs = this.#now().getTime() - reloadAfterMs + retryAfterMs
      return this.#current
    }
  }

  /** A document managed by hand is never due. */
  get due(): boolean {
    const age = this.#now().getTime() - this.#loadedAtMs
    return !this.#source.fixed && (age >= reloadAfterMs || age < 0)
  }

  /** How long ago it was loaded. */
  get ageMs(): number {
    return this.#now().getTime() - this.#loadedAtMs
  }

  get fixed(): boolean {
    return this.#source.fixed
  }

  /** One load at a time; everybody who asks meanwhile gets its result. */
  load(): Promise<Manifest> {
    this.#loading ??= this.#source
      .load()
      .then((manifest) => {
        const before = this.#current
        this.#current = manifest
        if (manifest.digest !== before?.digest) {
          const { digest, serial } = manifest
          this.#onEvent({ kind: 'manifest-changed', digest, serial, from: before?.digest })
        }
        this.#loadedAtMs = this.#now().getTime()
        return manifest
      })
      .finally(() => {
        this.#loading = undefined
      })
    return this.#loading
  }

  /** c2sp.org/tlog-proof of the manifest that was loaded last, where it came from a log. */
  logProof(manifest: Manifest): Bytes | undefined {
    return this.#source.logProof(manifest)
  }

  /**
   * To be called when a worker was verified against `manifest`: only then is it enforced. Resolves
   * once that is on record; what could not be recorded is tried again with the next worker.
   */
  async markEnforced(manifest: Manifest): Promise<void> {
    const { digest } = manifest
    if (this.#enforced?.digest !== digest) {
      const at = this.#now()
      this.#enforced = { digest, at, done: this.#source.enforced(manifest, at) }
    }
    const enforced = this.#enforced
    try {
      await enforced.done
    } catch (error) {
      if (this.#enforced === enforced) this.#enforced = undefined
      throw error
    }
  }
}
