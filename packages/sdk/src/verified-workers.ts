/** The verified workers that requests may be sealed to: finds, verifies and renews them. */
import {
  AttestationError,
  type AttestedWorker,
  isAttestedWorker,
  type Manifest,
  type ModelListing,
  verifyWorkerWith,
} from '@privatemode/attestation'
import { ApiError, findModel, requireModel } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Backend, ListedWorker } from './backend.ts'
import type { ManifestKeeper } from './manifest-keeper.ts'
import type { ClientOptions } from './options.ts'
import { Refusals, type RefusedWorker, refusedError } from './refusals.ts'

const directoryMaxAgeMs = 10_000
/** After a failed refresh, requests do not start another one before this has passed. */
const failurePauseMs = 2_000
/** A verification is renewed in the background after this fraction of its lifetime. */
const renewAfter = 0.75
const attestAtOnce = 8
/** How long calls avoid a worker, if possible, after it was unreachable. */
const suspectMs = 2_000

type Refresh = { readonly apiKey: string; readonly done: Promise<void> }

export class VerifiedWorkers {
  readonly #options: ClientOptions
  readonly #backend: Backend
  readonly #manifest: ManifestKeeper
  readonly #verified = new Map<string, AttestedWorker>()
  readonly #refusals = new Refusals()
  /** Called each time a worker is verified. */
  readonly #waiting = new Set<() => void>()
  #listed = new Map<string, ListedWorker>()
  #refreshing: Refresh | undefined
  #refreshedAtMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY
  /** For each worker, when it was last unreachable. */
  readonly #failedAtMs = new Map<string, number>()
  /** Counts calls of `forget`: a refresh that started earlier does not make up for it. */
  #forgotten = 0

  constructor(options: ClientOptions, backend: Backend, manifest: ManifestKeeper) {
    this.#options = options
    this.#backend = backend
    this.#manifest = manifest
  }

  /** A model's name in the manifest, which callers may shorten; the name itself if there is none. */
  nameOf(model: string): string {
    return findModel(this.#manifest.current?.models ?? [], model)?.id ?? model
  }

  /** Verified and listed workers of a model by its name in the manifest, as of now; never waits. */
  serving(model: string): AttestedWorker[] {
    const serving: AttestedWorker[] = []
    if (!this.#manifest.usable) return serving // what is valid is no longer known
    const now = this.#options.now()
    for (const worker of this.#verified.values()) {
      if (!isAttestedWorker(worker) || !holdsAt(worker, now)) continue
      if (!this.#isCurrent(worker)) continue
      if (!this.#listed.has(worker.workerId)) continue
      if (worker.models.some(({ id }) => id === model)) serving.push(worker)
    }
    return serving
  }

  /**
   * Whether a worker was verified under the manifest in force, which may have been loaded since: it
   * counts from then on, even if the gateway withholds what is needed to verify the workers again.
   */
  #isCurrent({ manifestDigest }: AttestedWorker): boolean {
    return manifestDigest === this.#manifest.current?.digest
  }

  /** Those of `workers` that have not just failed; all of them if every one has. */
  preferred(workers: AttestedWorker[]): AttestedWorker[] {
    if (this.#failedAtMs.size === 0) return workers
    const now = this.#options.now().getTime()
    const healthy = workers.filter(({ workerId }) => !this.#isSuspect(workerId, now))
    return healthy.length === 0 ? workers : healthy
  }

  /** Directs calls to other workers for a while, and checks whether these are still listed. */
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

  /** Every worker verified under the manifest in force. */
  get all(): readonly AttestedWorker[] {
    return [...this.#verified.values()].filter((worker) => this.#isCurrent(worker))
  }

  get refused(): readonly RefusedWorker[] {
    return this.#refusals.all
  }

  /** The models that the manifest lists and that some listed worker claims to serve. */
  async models(apiKey: string): Promise<readonly ModelListing[]> {
    await this.refresh(apiKey)
    const manifest = await this.#manifest.get()
    const offered = new Set([...this.#listed.values()].flatMap(({ models }) => models))
    return manifest.models.filter(({ id }) => offered.has(id))
  }

  /** Starts a refresh in the background if one is due; a request never waits for it. */
  touch(apiKey: string): void {
    const now = this.#options.now().getTime()
    const stale = now - this.#refreshedAtMs > directoryMaxAgeMs || now < this.#refreshedAtMs
    const pauseMs = this.#pausedUntilMs - now // longer than a pause if the clock was set back
    if (this.#refreshing !== undefined || (pauseMs > 0 && pauseMs <= failurePauseMs)) return
    if (stale || this.#manifest.due) {
      this.refresh(apiKey).catch(() => {}) // callers that need the result will see the error
    }
  }

  /** Waits until a worker of `model` is verified; throws the reason if there is none. */
  async require(apiKey: string, model: string): Promise<void> {
    const joined = this.#refreshing !== undefined
    await this.#refreshUntil(apiKey, model)
    // The refresh in progress may have started before a key was forgotten.
    if (joined && !this.#isServed(model)) await this.#refreshUntil(apiKey, model)
    if (this.#isServed(model)) return
    const { id: name } = requireModel((await this.#manifest.get()).models, model)
    const offers = (id: string) => this.#listed.get(id)?.models.includes(name) === true
    const reasons = this.refused.filter(({ workerId }) => offers(workerId))
    const refusal = reasons.find(({ error }) => error instanceof AttestationError)
    if (refusal !== undefined) throw refusedError(refusal.error)
    if (reasons[0] !== undefined) throw reasons[0].error
    throw new ApiError('no_worker', `no worker currently serves ${JSON.stringify(name)}`)
  }

  #isServed(model: string): boolean {
    return this.serving(this.nameOf(model)).length > 0
  }

  /** Forgets workers whose keys the backend no longer knows; the next refresh verifies them again. */
  forget(workerIds: readonly string[]): void {
    for (const id of workerIds) this.#verified.delete(id)
    this.#forgotten += 1
    this.#refreshedAtMs = Number.NEGATIVE_INFINITY
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY
  }

  /**
   * Runs one refresh at a time; concurrent callers wait for the same one. Only if the gateway
   * refused the key it was made with does a caller with another key try its own.
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

  /** Waits for a refresh, or only until it has found a worker, so that a slow one does not delay callers. */
  async #refreshUntil(apiKey: string, model: string): Promise<void> {
    let look = () => {}
    const found = new Promise<void>((resolve) => {
      look = () => {
        if (this.#isServed(model)) resolve()
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
    const latest = await this.#latestAfter(manifest, refused)
    if (latest.digest !== manifest.digest) await this.#attestDue(apiKey, latest)
  }

  /** The manifest in force once workers were verified under `manifest`, fetched if one was refused. */
  async #latestAfter(manifest: Manifest, refused: boolean): Promise<Manifest> {
    const { current = manifest } = this.#manifest
    // Another caller has loaded it meanwhile: what was verified under `manifest` no longer counts.
    if (current.digest !== manifest.digest) return current
    if (this.#manifest.fixed || !(refused || this.#isStuck())) return manifest
    // A new backend brings a new manifest: fetch the latest and retry once before refusing. If it
    // cannot be fetched, the refusal stands.
    return await this.#manifest.load().catch((error) => {
      if (this.#manifest.usable) return manifest
      throw error
    })
  }

  /** Whether a model is served only by refused workers: a newer manifest may accept them. */
  #isStuck(): boolean {
    if (this.#manifest.ageMs < failurePauseMs) return false
    return this.#refusals.final.some((id) =>
      this.#listed.get(id)?.models.some((model) => this.serving(model).length === 0),
    )
  }

  /** A worker verified under another manifest is not verified under this one. */
  #dropOutdated(manifest: Manifest): void {
    const now = this.#options.now()
    for (const [id, worker] of this.#verified) {
      if (worker.manifestDigest !== manifest.digest || !holdsAt(worker, now)) {
        this.#verified.delete(id)
      }
    }
    this.#refusals.dropOutdated(this.#listed, manifest.digest, now.getTime())
  }

  /** Returns whether verification refused a worker. */
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
      // An earlier verification stays valid until it expires, unless there is now a reason against
      // it.
      if (final) this.#verified.delete(workerId)
      const kind = final ? 'refused' : 'unreachable'
      onEvent({ kind, workerId, code: codeOf(error) })
      return kind
    }
  }
}

const codeOf = (error: Error): string =>
  error instanceof AttestationError || error instanceof ApiError ? error.code : 'error'

/** The gateway's verdict on one key says nothing about another. */
function isAboutKey(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 429].includes(error.status)
}

type ListedRequest = {
  readonly apiKey: string
  readonly manifest: Manifest
  readonly workerId: string
  readonly logProof: Bytes | undefined
}

/** Verifies one worker from the directory: fresh nonce, evidence, decision. */
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
      `asked for worker ${workerId}, but the evidence names worker ${worker.workerId}`,
      { checks: worker.checks },
    )
  }
  options.onEvidence?.(worker, { nonce, statement, evidence, manifest, logProof })
  return worker
}

/** Clocks are adjusted by seconds now and then; that is no reason to verify again. */
const clockSlackMs = 60_000

/** Whether a verification is valid at a given time: setting the clock back does not extend it. */
function holdsAt({ verifiedAt, validUntil }: AttestedWorker, now: Date): boolean {
  return validUntil > now && verifiedAt.getTime() <= now.getTime() + clockSlackMs
}
