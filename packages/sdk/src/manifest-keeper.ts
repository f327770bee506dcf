/** Holds the manifest in force: loads it once for all who wait, and again when told or due. */
import type { Manifest, ManifestSource } from '@privatemode/attestation'

const reloadAfterMs = 5 * 60_000

export class ManifestKeeper {
  readonly #source: ManifestSource
  readonly #now: () => Date
  #current: Manifest | undefined
  #loadedAtMs = 0
  #loading: Promise<Manifest> | undefined
  #enforcedDigest: string | undefined
  #enforcedAt: Date | undefined

  constructor(source: ManifestSource, now: () => Date) {
    this.#source = source
    this.#now = now
  }

  get current(): Manifest | undefined {
    return this.#current
  }

  /** Since when the current manifest has been enforced; undefined before the first verification. */
  get enforcedAt(): Date | undefined {
    return this.#enforcedAt
  }

  async get(): Promise<Manifest> {
    return this.#current ?? (await this.load())
  }

  /** A document managed by hand is never due. */
  get due(): boolean {
    const age = this.#now().getTime() - this.#loadedAtMs
    return !this.#source.fixed && (age >= reloadAfterMs || age < 0)
  }

  get fixed(): boolean {
    return this.#source.fixed
  }

  /** One load at a time; everybody who asks meanwhile gets its result. */
  load(): Promise<Manifest> {
    this.#loading ??= this.#source
      .load()
      .then((manifest) => {
        this.#current = manifest
        this.#loadedAtMs = this.#now().getTime()
        return manifest
      })
      .finally(() => {
        this.#loading = undefined
      })
    return this.#loading
  }

  /** To be called when a worker was verified against `manifest`: only then is it enforced. */
  async markEnforced(manifest: Manifest): Promise<void> {
    if (manifest.digest === this.#enforcedDigest) return
    this.#enforcedDigest = manifest.digest
    this.#enforcedAt = this.#now()
    await this.#source.enforced(manifest, this.#enforcedAt)
  }
}
