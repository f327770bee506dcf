/** The workers that were verified and may be sealed to; found, checked and renewed here. */
import {
  AttestationError,
  type AttestedWorker,
  isAttestedWorker,
  type Manifest,
  type ModelListing,
  verifyWorkerWith,
} from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import type { Backend, ListedWorker } from './backend.ts'
import type { ManifestKeeper } from './manifest-keeper.ts'
import type { ClientOptions } from './options.ts'

type Refusal = { readonly sealKeyId: string; readonly error: Error; readonly untilMs: number }
export type RefusedWorker = { readonly workerId: string; readonly error: Error }

const directoryMaxAgeMs = 10_000
/** A machine that could not be reached, or whose evidence could not be had, is asked again then. */
const unreachablePauseMs = 2_000
/** After this part of its lifetime a verification is renewed in the background. */
const renewAfter = 0.75
const attestAtOnce = 8

export class VerifiedWorkers {
  readonly #options: ClientOptions
  readonly #backend: Backend
  readonly #manifest: ManifestKeeper
  readonly #verified = new Map<string, AttestedWorker>()
  readonly #refused = new Map<string, Refusal>()
  #listed = new Map<string, ListedWorker>()
  #refreshing: Promise<void> | undefined
  #refreshedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ClientOptions, backend: Backend, manifest: ManifestKeeper) {
    this.#options = options
    this.#backend = backend
    this.#manifest = manifest
  }

  /** Verified and listed workers of a model, at this moment; never waits. */
  serving(model: string): AttestedWorker[] {
    const now = this.#options.now()
    const serving: AttestedWorker[] = []
    for (const worker of this.#verified.values()) {
      if (!isAttestedWorker(worker) || worker.validUntil <= now) continue
      if (!this.#listed.has(worker.workerId)) continue
      if (worker.models.some(({ id }) => id === model)) serving.push(worker)
    }
    return serving
  }

  get all(): readonly AttestedWorker[] {
    return [...this.#verified.values()]
  }

  get refused(): readonly RefusedWorker[] {
    return [...this.#refused].map(([workerId, { error }]) => ({ workerId, error }))
  }

  /** The models that the manifest lists and some listed worker says it serves. */
  async models(apiKey: string): Promise<readonly ModelListing[]> {
    await this.refresh(apiKey)
    const manifest = await this.#manifest.get()
    const offered = new Set([...this.#listed.values()].flatMap(({ models }) => models))
    return manifest.models.filter(({ id }) => offered.has(id))
  }

  /** Starts a refresh in the background where something is due; a request never waits for it. */
  touch(apiKey: string): void {
    const now = this.#options.now().getTime()
    const stale = now - this.#refreshedAtMs > directoryMaxAgeMs || now < this.#refreshedAtMs
    if (this.#refreshing === undefined && (stale || this.#manifest.due)) {
      this.refresh(apiKey).catch(() => {}) // whoever needs the result will ask and see the error
    }
  }

  /** Waits until a worker of `model` is verified; refuses with the reason why none is. */
  async require(apiKey: string, model: string): Promise<void> {
    await this.refresh(apiKey)
    if (this.serving(model).length > 0) return
    const manifest = await this.#manifest.get()
    if (!manifest.models.some(({ id }) => id === model)) {
      throw new ApiError('model_not_found', `the model ${JSON.stringify(model)} does not exist`, {
        param: 'model',
      })
    }
    const reasons = [...this.#refused.values()].map(({ error }) => error)
    const refusal = reasons.find((error) => error instanceof AttestationError)
    if (refusal !== undefined) throw refusedError(refusal)
    if (reasons[0] !== undefined) throw reasons[0]
    throw new ApiError('no_worker', `no worker serves ${JSON.stringify(model)} at the moment`)
  }

  /** Forgets workers whose keys the backend no longer knows; the next refresh verifies anew. */
  forget(workerIds: readonly string[]): void {
    for (const id of workerIds) this.#verified.delete(id)
    this.#refreshedAtMs = Number.NEGATIVE_INFINITY
  }

  /** One refresh at a time; everybody who asks meanwhile waits for the same one. */
  refresh(apiKey: string): Promise<void> {
    this.#refreshing ??= this.#refresh(apiKey).finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #refresh(apiKey: string): Promise<void> {
    const [listed, manifest] = await Promise.all([
      this.#backend.directory(apiKey),
      this.#manifest.due ? this.#manifest.load() : this.#manifest.get(),
    ])
    this.#listed = new Map(listed.map((worker) => [worker.id, worker]))
    this.#dropOutdated(manifest)
    await this.#attestDue(apiKey, manifest)
    // A new backend brings a new manifest: fetch the latest and try once more before refusing.
    if (this.#verified.size === 0 && this.#wasRefused() && !this.#manifest.fixed) {
      const latest = await this.#manifest.load()
      if (latest.digest !== manifest.digest) {
        this.#refused.clear()
        await this.#attestDue(apiKey, latest)
      }
    }
    this.#refreshedAtMs = this.#options.now().getTime()
  }

  /** What was verified under another manifest is not verified under this one. */
  #dropOutdated(manifest: Manifest): void {
    const now = this.#options.now()
    for (const [id, worker] of this.#verified) {
      if (worker.manifestDigest !== manifest.digest || worker.validUntil <= now) {
        this.#verified.delete(id)
      }
    }
    for (const [id, refusal] of this.#refused) {
      const changed = this.#listed.get(id)?.sealKeyId !== refusal.sealKeyId
      if (changed || refusal.untilMs <= now.getTime()) this.#refused.delete(id)
    }
  }

  async #attestDue(apiKey: string, manifest: Manifest): Promise<void> {
    const due = [...this.#listed.values()].filter((worker) => this.#isDue(worker))
    for (let start = 0; start < due.length; start += attestAtOnce) {
      const batch = due.slice(start, start + attestAtOnce)
      await Promise.all(batch.map((worker) => this.#attest(apiKey, manifest, worker)))
    }
  }

  #isDue({ id, sealKeyId }: ListedWorker): boolean {
    if (this.#refused.has(id)) return false
    const verified = this.#verified.get(id)
    if (verified === undefined || verified.sealKey.id !== sealKeyId) return true
    const lifetime = verified.validUntil.getTime() - verified.verifiedAt.getTime()
    const age = this.#options.now().getTime() - verified.verifiedAt.getTime()
    return age > lifetime * renewAfter
  }

  async #attest(apiKey: string, manifest: Manifest, listed: ListedWorker): Promise<void> {
    try {
      const worker = await this.#verify(apiKey, manifest, listed.id)
      this.#verified.set(listed.id, worker)
      await this.#manifest.markEnforced(manifest)
      const { workerId, hardware } = worker
      this.#options.onEvent({ kind: 'verified', workerId, hardware })
    } catch (cause) {
      this.#verified.delete(listed.id)
      this.#noteRefusal(listed, cause instanceof Error ? cause : new Error('unknown', { cause }))
    }
  }

  async #verify(apiKey: string, manifest: Manifest, id: string): Promise<AttestedWorker> {
    const { crypto, roots, revocation, hardware = {}, software, now } = this.#options
    const nonce = crypto.random(32)
    const { statement, evidence } = await this.#backend.attestation(id, nonce, apiKey)
    const inputs = { nonce, statement, evidence, manifest, roots, revocation, at: now() }
    const worker = await verifyWorkerWith(
      hardware,
      software === undefined ? inputs : { ...inputs, software },
    )
    if (worker.workerId !== id) {
      throw new AttestationError(
        'binding_mismatch',
        `asked for worker ${id}, the evidence is of worker ${worker.workerId}`,
        { checks: worker.checks },
      )
    }
    const logProof = this.#manifest.logProof(manifest)
    this.#options.onEvidence?.(worker, { nonce, statement, evidence, manifest, logProof })
    return worker
  }

  /** A refusal by verification is final for that key; a failed connection is tried again soon. */
  #noteRefusal(listed: ListedWorker, error: Error): void {
    const final = error instanceof AttestationError
    const pause = final ? Number.POSITIVE_INFINITY : unreachablePauseMs
    const untilMs = this.#options.now().getTime() + pause
    this.#refused.set(listed.id, { sealKeyId: listed.sealKeyId, error, untilMs })
    const code =
      error instanceof AttestationError || error instanceof ApiError ? error.code : 'error'
    const kind = final ? 'refused' : 'unreachable'
    this.#options.onEvent({ kind, workerId: listed.id, code })
  }

  #wasRefused(): boolean {
    return [...this.#refused.values()].some(({ error }) => error instanceof AttestationError)
  }
}

/** A refusal as the caller sees it: a retry cannot help. */
export function refusedError(cause: Error): ApiError {
  const code = cause instanceof AttestationError ? ` (${cause.code})` : ''
  return new ApiError('attestation_refused', `the backend was refused: ${cause.message}${code}`, {
    cause,
  })
}
