/** Holds the manifest in force: loads it once for all who wait, and again when told or due. */
import type { Manifest, ManifestSource } from '@privatemode/attestation'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { ClientEvent } from './options.ts'

const reloadAfterMs = 5 * 60_000

export class ManifestKeeper {
  readonly #source: ManifestSource
  readonly #now: () => Date
  readonly #onEvent: (event: ClientEvent) => void
  #current: Manifest | undefined
  #loadedAtMs = 0
  #loading: Promise<Manifest> | undefined
  #enforcedDigest: string | undefined
  #enforcedAt: Date | undefined

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

  /** To be called when a worker was verified against `manifest`: only then is it enforced. */
  async markEnforced(manifest: Manifest): Promise<void> {
    if (manifest.digest === this.#enforcedDigest) return
    this.#enforcedDigest = manifest.digest
    this.#enforcedAt = this.#now()
    await this.#source.enforced(manifest, this.#enforcedAt)
  }
}
