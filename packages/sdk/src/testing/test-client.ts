/** A client of the fake backend; every option can be overridden. */
import type { LogFreshness, Manifest, ManifestSource } from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'
import { webCryptoProvider } from '@privatemode/protocol/envelope'
import { chatModel } from '../../../attestation/src/testing/software-world.ts'
import { Backend } from '../backend.ts'
import { PrivateClient } from '../client.ts'
import { ManifestKeeper } from '../manifest-keeper.ts'
import type { ClientEvent, ClientOptions } from '../options.ts'
import { VerifiedWorkers } from '../verified-workers.ts'
import type { FakeBackend } from './fake-backend.ts'

export type TestSource = Omit<ManifestSource, 'load'> & {
  load: () => Promise<Manifest>
  loads: number
  fresh: LogFreshness | undefined
  readonly enforcedManifests: { digest: string; at: Date }[]
}

export function testSource(backend: FakeBackend, fixed = false): TestSource {
  const source: TestSource = {
    fixed,
    loads: 0,
    fresh: undefined,
    enforcedManifests: [],
    logProof: () => undefined,
    freshness: () => source.fresh,
    load(): Promise<Manifest> {
      source.loads += 1
      return backend.manifest()
    },
    async enforced({ digest }, at) {
      source.enforcedManifests.push({ digest, at })
    },
  }
  return source
}

export function testOptions(backend: FakeBackend, change: Partial<ClientOptions> = {}) {
  const events: ClientEvent[] = []
  const source = testSource(backend)
  const options: ClientOptions = {
    endpoint: 'https://gateway.example',
    manifestSource: source,
    roots: backend.world.roots,
    revocation: { allowUnknown: false, revokedGraceHours: 0 },
    software: softwareVerifier,
    crypto: webCryptoProvider,
    fetch: backend.fetch,
    shape: 'off',
    now: () => backend.now,
    onEvent: (event) => events.push(event),
    candidates: 2,
    maxAnswerBytes: 100_000,
    retryBudgetMs: 60_000, // attempts are bounded; a busy machine takes seconds for one
    ...change,
  }
  return { options, events, source }
}

export function testWorkers(backend: FakeBackend, change: Partial<ClientOptions> = {}) {
  const { options, events, source } = testOptions(backend, change)
  const keeper = new ManifestKeeper(options.manifestSource, options.now)
  const workers = new VerifiedWorkers(options, new Backend(options.endpoint, options.fetch), keeper)
  return { workers, events, source, keeper }
}

/** The workers that serve the chat model, sorted by id. */
export function servingIds(workers: VerifiedWorkers): string[] {
  return workers
    .serving(chatModel.id)
    .map(({ workerId }) => workerId)
    .sort()
}

export function testClient(backend: FakeBackend, change: Partial<ClientOptions> = {}) {
  const { options, events, source } = testOptions(backend, change)
  return { client: new PrivateClient(options), events, source }
}
