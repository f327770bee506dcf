/** A backend in one process for tests: gateway and workers with real evidence and real keys. */
import {
  type Evidence,
  formatAttestation,
  formatManifest,
  formatStatement,
  type Manifest,
  type ManifestDraft,
  parseManifest,
  reportData,
} from '@privatemode/attestation'
import { produceSoftwareEvidence } from '@privatemode/attestation/software/producer'
import { ApiError, formatRelayError } from '@privatemode/protocol/api'
import {
  type Bytes,
  createSealKeyPair,
  dataRecord,
  encodeText,
  endRecord,
  equalBytes,
  formatHex,
  headRecord,
  joinBytes,
  openRequest,
  type SealKeyPair,
  webCryptoProvider,
} from '@privatemode/protocol/envelope'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import {
  chatModel,
  noon,
  type SoftwareWorld,
  softwareWorld,
} from '../../../attestation/src/testing/software-world.ts'

const hourMs = 3_600_000

export type FakeWorker = {
  readonly id: string
  /** The keys it opens requests with; the last one is listed and attested. */
  keys: { readonly pair: SealKeyPair; readonly statement: Bytes; readonly digest: Bytes }[]
  models: string[]
  measurement: Bytes
  listed: boolean
  /** Replaces the attestation route. */
  attestInstead: (() => Promise<Response>) | undefined
}

export class FakeBackend {
  readonly world: SoftwareWorld
  readonly workers = new Map<string, FakeWorker>()
  /** Nonces in the order of requests, with the worker and the API key. */
  readonly attestations: { id: string; nonce: string; apiKey: string }[] = []
  readonly sealed: { workers: string[]; apiKey: string; model: string }[] = []
  directoryCalls = 0
  /** Replaces the directory route. */
  directoryInstead: ((apiKey: string) => Promise<Response | undefined>) | undefined
  /** Modifies the bytes of an answer in transit. */
  tamper: (answer: Bytes) => Bytes = (answer) => answer
  now = noon
  draft: ManifestDraft

  private constructor(world: SoftwareWorld) {
    this.world = world
    this.draft = world.draft
  }

  static async start(...ids: string[]): Promise<FakeBackend> {
    const backend = new FakeBackend(await softwareWorld())
    for (const id of ids) await backend.addWorker(id)
    return backend
  }

  async addWorker(id: string, models = [chatModel.id]): Promise<FakeWorker> {
    const { measurement } = this.world
    const fixed = { id, measurement, models, listed: true, attestInstead: undefined }
    const worker: FakeWorker = { ...fixed, keys: [] }
    this.workers.set(id, worker)
    await this.rotate(worker)
    return worker
  }

  /** Creates a new seal key; the worker forgets the old ones, as after a restart. */
  async rotate(worker: FakeWorker): Promise<void> {
    const pair = await createSealKeyPair()
    const expiresAt = new Date(this.now.getTime() + 24 * hourMs)
    const statement = formatStatement({
      ...this.world.statement,
      workerId: worker.id,
      models: worker.models.map((model) => ({ ...chatModel, id: model })),
      sealKey: {
        id: formatHex(pair.id),
        kem: 'X-Wing',
        publicKey: pair.publicKey,
        expiresAt,
      },
    })
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', statement))
    worker.keys = [{ pair, statement, digest }]
  }

  /** A worker whose verification stays pending until the test fails it. */
  async addSlowWorker(id: string): Promise<{ asked: Promise<void>; fail(): void }> {
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()]
    const worker = await this.addWorker(id)
    worker.attestInstead = () => {
      asked.resolve()
      return held.promise
    }
    const gone = relayError(new ApiError('worker_unreachable', 'gone'))
    return { asked: asked.promise, fail: () => held.resolve(gone) }
  }

  /** How often a worker was asked for evidence. */
  timesAsked(id: string): number {
    return this.attestations.filter((one) => one.id === id).length
  }

  /** Puts another manifest in force, which lists these measurements. */
  publish(...measurements: readonly Bytes[]): void {
    const [rule] = this.draft.roles.worker.accept
    if (rule === undefined) throw new Error('the manifest accepts nothing')
    const accept = [{ ...rule, measurements: measurements.map(formatHex) }]
    this.draft = { ...this.draft, serial: 2, roles: { worker: { accept } } }
  }

  advance(ms: number): void {
    this.now = new Date(this.now.getTime() + ms)
  }

  manifest(): Promise<Manifest> {
    return parseManifest(formatManifest(this.draft))
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url)
    const apiKey = new Headers(init.headers).get('authorization')?.replace('Bearer ', '') ?? ''
    const attested = /^\/privatemode\/v1\/workers\/([^/]+)\/attestation$/.exec(pathname)
    if (pathname === '/privatemode/v1/directory') return await this.#directory(apiKey)
    if (attested?.[1] !== undefined) {
      return await this.#attest(attested[1], String(init.body), apiKey)
    }
    if (pathname === '/privatemode/v1/sealed') return await this.#serve(init, apiKey)
    return relayError(new ApiError('not_found', 'no such route'))
  }

  async #directory(apiKey: string): Promise<Response> {
    this.directoryCalls += 1
    const instead = await this.directoryInstead?.(apiKey)
    if (instead !== undefined) return instead
    const workers = [...this.workers.values()]
      .filter(({ listed }) => listed)
      .map(({ id, models, keys }) => {
        const key = keys.at(-1)
        return { id, models, seal_key_id: key === undefined ? '' : formatHex(key.pair.id) }
      })
    return Response.json({ workers, models: [] })
  }

  async #attest(id: string, body: string, apiKey: string): Promise<Response> {
    const { nonce } = JSON.parse(body) as { nonce: string }
    this.attestations.push({ id, nonce, apiKey })
    const worker = this.workers.get(id)
    const key = worker?.keys.at(-1)
    if (worker === undefined || key === undefined) {
      return relayError(new ApiError('worker_unknown', 'no such worker'))
    }
    if (worker.attestInstead !== undefined) return await worker.attestInstead()
    const { statement } = key
    const bound = await reportData({ nonce: fromHex(nonce), statement, deviceReports: [] })
    const report = { measurement: worker.measurement, reportData: bound }
    const cpu = await produceSoftwareEvidence(this.world.leaf, report)
    const evidence: Evidence = { cpu, devices: [] }
    return new Response(formatAttestation({ statement, evidence }))
  }

  async #serve(init: RequestInit, apiKey: string): Promise<Response> {
    const headers = new Headers(init.headers)
    const candidates = headers.get('privatemode-workers')?.split(',') ?? []
    const model = headers.get('privatemode-model') ?? ''
    this.sealed.push({ workers: candidates, apiKey, model })
    const worker = this.workers.get(candidates[0] ?? '')
    if (worker === undefined) return relayError(new ApiError('worker_unknown', 'no such worker'))
    const find = async (id: Bytes, encapsulation: Bytes) => {
      const key = worker.keys.find(({ pair }) => equalBytes(pair.id, id))
      return await key?.pair.openSession(encapsulation, key.digest)
    }
    try {
      const bytes = init.body as Bytes
      const opened = await openRequest(webCryptoProvider, find, () => {}, bytes)
      const answer = await opened.sealAnswer()
      const records = [
        ...headRecord({ status: 200, headers: { 'content-type': 'application/json' } }),
        ...dataRecord(joinBytes([encodeText('answer to '), opened.body])),
      ]
      const first = await answer.seal(records, false)
      const last = await answer.seal(endRecord(encodeText('{}')), true)
      const whole = this.tamper(joinBytes([answer.prelude, first, last]))
      return new Response(whole, { headers: { 'content-type': sealedMediaType } })
    } catch {
      return relayError(new ApiError('unknown_key', 'unknown key'))
    }
  }
}

export function relayError(error: ApiError): Response {
  const { status, headers, body } = formatRelayError(error, 'test')
  return new Response(body, { status, headers })
}

const fromHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (octet) => Number.parseInt(octet, 16))
