/** The workers that were verified and may be sealed to; found, checked and renewed here. */
import {
  AttestationError,
  type AttestedWorker,
  isAttestedWorker,
  type Manifest,
  type ModelListing,
  verifyWorkerWith,
} from '@privatemode/attestation'
import { ApiError, unknownModel } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Backend, ListedWorker } from './backend.ts'
import type { ManifestKeeper } from './manifest-keeper.ts'
import type { ClientOptions } from './options.ts'
import { Refusals, type RefusedWorker, refusedError } from './refusals.ts'

const directoryMaxAgeMs = 10_000
/** After a refresh that failed, requests start the next one not before this has passed. */
const failurePauseMs = 2_000
/** After this part of its lifetime a verification is renewed in the background. */
const renewAfter = 0.75
const attestAtOnce = 8
/** So long calls go elsewhere, where they can, after a worker could not be reached. */
const suspectMs = 2_000

type Refresh = { readonly apiKey: string; readonly done: Promise<void> }

export class VerifiedWorkers {
  readonly #options: ClientOptions
  readonly #backend: Backend
  readonly #manifest: ManifestKeeper
  readonly #verified = new Map<string, AttestedWorker>()
  readonly #refusals = new Refusals()
  /** Asked each time a worker was verified. */
  readonly #waiting = new Set<() => void>()
  #listed = new Map<string, ListedWorker>()
  #refreshing: Refresh | undefined
  #refreshedAtMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  /** By worker, when it could last not be reached. */
  readonly #failedAtMs = new Map<string, number>()
  /** Counts how often workers were forgotten: a refresh that began before does not make up for it. */
  #forgotten = 0

  constructor(options: ClientOptions, backend: Backend, manifest: ManifestKeeper) {
    this.#options = options
    this.#backend = backend
    this.#manifest = manifest
  }

  /** Verified and listed workers of a model, at this moment; never waits. */
  serving(model: string): AttestedWorker[] {
    const serving: AttestedWorker[] = []
    if (!this.#manifest.usable) return serving // nobody knows any more what holds
    const now = this.#options.now()
    for (const worker of this.#verified.values()) {
      if (!isAttestedWorker(worker) || !holdsAt(worker, now)) continue
      if (!this.#listed.has(worker.workerId)) continue
      if (worker.models.some(({ id }) => id === model)) serving.push(worker)
    }
    return serving
  }

  /** Those of `workers` that did not just fail; all of them where every one did. */
  preferred(workers: AttestedWorker[]): AttestedWorker[] {
    if (this.#failedAtMs.size === 0) return workers
    const now = this.#options.now().getTime()
    const healthy = workers.filter(({ workerId }) => !this.#isSuspect(workerId, now))
    return healthy.length === 0 ? workers : healthy
  }

  /** Calls go to others for a while, and the directory is asked whether these are still listed. */
  suspect(workerIds: readonly string[]): void {
    const now = this.#options.now().getTime()
    for (const id of this.#failedAtMs.keys()) {
      if (!this.#isSuspect(id, now)) this.#failedAtMs.delete(id)
    }
    for (const id of workerIds) this.#failedAtMs.set(id, now)
    this.#refreshedAtMs = Number.NEGATIVE_INFINITY
  }

  #isSuspect(workerId: string, now: number): boolean {
    const agoMs = now - (this.#failedAtMs.get(workerId) ?? Number.NEGATIVE_INFINITY)
    return agoMs >= 0 && agoMs < suspectMs
  }

  get all(): readonly AttestedWorker[] {
    return [...this.#verified.values()]
  }

  get refused(): readonly RefusedWorker[] {
    return this.#refusals.all
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
    const pauseMs = this.#pausedUntilMs - now // longer than a pause where the clock was turned back
    if (this.#refreshing !== undefined || (pauseMs > 0 && pauseMs <= failurePauseMs)) return
    if (stale || this.#manifest.due) {
      this.refresh(apiKey).catch(() => {}) // whoever needs the result will ask and see the error
    }
  }

  /** Waits until a worker of `model` is verified; refuses with the reason why none is. */
  async require(apiKey: string, model: string): Promise<void> {
    const joined = this.#refreshing !== undefined
    await this.#refreshUntil(apiKey, model)
    // What was under way may have begun before a key was forgotten.
    if (joined && this.serving(model).length === 0) await this.#refreshUntil(apiKey, model)
    if (this.serving(model).length > 0) return
    const manifest = await this.#manifest.get()
    if (!manifest.models.some(({ id }) => id === model)) {
      throw unknownModel(
        model,
        manifest.models.map(({ id }) => id),
      )
    }
    const offers = (id: string) => this.#listed.get(id)?.models.includes(model) === true
    const reasons = this.refused.filter(({ workerId }) => offers(workerId))
    const refusal = reasons.find(({ error }) => error instanceof AttestationError)
    if (refusal !== undefined) throw refusedError(refusal.error)
    if (reasons[0] !== undefined) throw reasons[0].error
    throw new ApiError('no_worker', `no worker serves ${JSON.stringify(model)} at the moment`)
  }

  /** Forgets workers whose keys the backend no longer knows; the next refresh verifies anew. */
  forget(workerIds: readonly string[]): void {
    for (const id of workerIds) this.#verified.delete(id)
    this.#forgotten += 1
    this.#refreshedAtMs = Number.NEGATIVE_INFINITY
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY
  }

  /**
   * One refresh at a time; everybody who asks meanwhile waits for the same one. Only where the
   * gateway refused the key that it was made with, a caller with another key tries with its own.
   */
  async refresh(apiKey: string): Promise<void> {
    for (;;) {
      this.#refreshing ??= { apiKey, done: this.#startRefresh(apiKey) }
      const running = this.#refreshing
      try {
        return await running.done
      } catch (error) {
        if (running.apiKey === apiKey || !isAboutKey(error)) throw error
      }
    }
  }

  /** Waits for a refresh, or only until it has found a worker: one that is slow holds nobody up. */
  async #refreshUntil(apiKey: string, model: string): Promise<void> {
    let look = () => {}
    const found = new Promise<void>((resolve) => {
      look = () => {
        if (this.serving(model).length > 0) resolve()
      }
    })
    this.#waiting.add(look)
    try {
      await Promise.race([this.refresh(apiKey), found])
    } finally {
      this.#waiting.delete(look)
    }
  }

  async #startRefresh(apiKey: string): Promise<void> {
    const forgotten = this.#forgotten
    try {
      await this.#refresh(apiKey)
      if (forgotten === this.#forgotten) this.#refreshedAtMs = this.#options.now().getTime()
    } catch (error) {
      this.#pausedUntilMs = this.#options.now().getTime() + failurePauseMs
      throw error instanceof AttestationError ? refusedError(error) : error
    } finally {
      this.#refreshing = undefined
    }
  }

  async #refresh(apiKey: string): Promise<void> {
    const [listed, manifest] = await Promise.all([
      this.#backend.directory(apiKey),
      this.#manifest.getCurrent(),
    ])
    this.#listed = new Map(listed.map((worker) => [worker.id, worker]))
    const refused = await this.#attestDue(apiKey, manifest)
    if (this.#manifest.fixed || !(refused || this.#isStuck())) return
    // A new backend brings a new manifest: fetch the latest and try once more before refusing.
    // Where it is not to be had, the refusal stands.
    const latest = await this.#manifest.load().catch(() => manifest)
    if (latest.digest !== manifest.digest) await this.#attestDue(apiKey, latest)
  }

  /** Whether a model is only at workers that stand refused: a manifest may have let them in since. */
  #isStuck(): boolean {
    if (this.#manifest.ageMs < failurePauseMs) return false
    return this.#refusals.final.some((id) =>
      this.#listed.get(id)?.models.some((model) => this.serving(model).length === 0),
    )
  }

  /** What was verified under another manifest is not verified under this one. */
  #dropOutdated(manifest: Manifest): void {
    const now = this.#options.now()
    for (const [id, worker] of this.#verified) {
      if (worker.manifestDigest !== manifest.digest || !holdsAt(worker, now)) {
        this.#verified.delete(id)
      }
    }
    this.#refusals.dropOutdated(this.#listed, manifest.digest, now.getTime())
  }

  /** Says whether a worker was refused by verification. */
  async #attestDue(apiKey: string, manifest: Manifest): Promise<boolean> {
    this.#dropOutdated(manifest)
    const due = [...this.#listed.values()].filter((worker) => this.#isDue(worker))
    let refused = false
    for (let start = 0; start < due.length; start += attestAtOnce) {
      const batch = due.slice(start, start + attestAtOnce)
      const verdicts = await Promise.all(
        batch.map((worker) => this.#attest(apiKey, manifest, worker)),
      )
      refused ||= verdicts.includes('refused')
    }
    return refused
  }

  #isDue({ id, sealKeyId }: ListedWorker): boolean {
    if (this.#refusals.has(id)) return false
    const verified = this.#verified.get(id)
    if (verified === undefined || verified.sealKey.id !== sealKeyId) return true
    const lifetime = verified.validUntil.getTime() - verified.verifiedAt.getTime()
    const age = this.#options.now().getTime() - verified.verifiedAt.getTime()
    return age > lifetime * renewAfter
  }

  async #attest(
    apiKey: string,
    manifest: Manifest,
    listed: ListedWorker,
  ): Promise<'verified' | 'refused' | 'unreachable'> {
    const { onEvent, now } = this.#options
    const workerId = listed.id
    try {
      const logProof = this.#manifest.logProof(manifest)
      const request = { apiKey, manifest, workerId, logProof }
      const worker = await verifyListed(this.#options, this.#backend, request)
      await this.#manifest.markEnforced(manifest)
      this.#verified.set(workerId, worker)
      for (const look of this.#waiting) look()
      const { hardware, revocation } = worker
      onEvent({ kind: 'verified', workerId, hardware, revocation })
      return 'verified'
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error('unknown', { cause })
      const final = this.#refusals.note(listed, manifest.digest, error, now().getTime())
      // What was verified before holds until its end, unless there is now a reason against it.
      if (final) this.#verified.delete(workerId)
      const kind = final ? 'refused' : 'unreachable'
      onEvent({ kind, workerId, code: codeOf(error) })
      return kind
    }
  }
}

const codeOf = (error: Error): string =>
  error instanceof AttestationError || error instanceof ApiError ? error.code : 'error'

/** What the gateway says about one key says nothing about another. */
function isAboutKey(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 429].includes(error.status)
}

type ListedRequest = {
  readonly apiKey: string
  readonly manifest: Manifest
  readonly workerId: string
  readonly logProof: Bytes | undefined
}

/** Verifies one worker that the directory lists: a fresh nonce, its evidence, the decision. */
async function verifyListed(
  options: ClientOptions,
  backend: Backend,
  { apiKey, manifest, workerId, logProof }: ListedRequest,
): Promise<AttestedWorker> {
  const { crypto, roots, revocation, hardware = {}, software, now } = options
  const nonce = crypto.random(32)
  const { statement, evidence } = await backend.attestation(workerId, nonce, apiKey)
  const inputs = { nonce, statement, evidence, manifest, roots, revocation, at: now() }
  const worker = await verifyWorkerWith(
    hardware,
    software === undefined ? inputs : { ...inputs, software },
  )
  if (worker.workerId !== workerId) {
    throw new AttestationError(
      'binding_mismatch',
      `asked for worker ${workerId}, the evidence is of worker ${worker.workerId}`,
      { checks: worker.checks },
    )
  }
  options.onEvidence?.(worker, { nonce, statement, evidence, manifest, logProof })
  return worker
}

/** Clocks are adjusted by seconds now and then; that is no reason to verify again. */
const clockSlackMs = 60_000

/** Whether a verification is good at a time: a clock that was turned back does not make it last longer. */
function holdsAt({ verifiedAt, validUntil }: AttestedWorker, now: Date): boolean {
  return validUntil > now && verifiedAt.getTime() <= now.getTime() + clockSlackMs
}
