/** What `Privatemode.connect` is told, and what follows where it is told nothing. */
import {
  createLogSource,
  createStaticSource,
  defaultMaxLogAgeHours,
  fetchLog,
  type HardwareVerifiers,
  type ManifestSource,
  type RevocationPolicy,
  type Roots,
  vendorRoots,
} from '@privatemode/attestation'
import type { Bytes, TrafficShape } from '@privatemode/protocol/envelope'
import { fleetPaths } from '@privatemode/protocol/fleet'
import type { CacheSaltPolicy } from './cache-salt.ts'
import { clientCrypto } from './client-crypto.ts'
import { checkpointsIn, type LogStorage, memoryStorage } from './log-storage.ts'
import {
  type ClientEvent,
  type ClientOptions,
  defaultMaxAnswerBytes,
  defaultRevocation,
  defaultTimeouts,
  type Fetch,
  type Timeouts,
} from './options.ts'
import { PrivatemodeError } from './privatemode-error.ts'
import type { SoftwareAttestation } from './software.ts'

/** Which manifest says what a worker must be. */
export type ManifestOption =
  | {
      /** The key of the manifest log, from its operator: `<name>+<id>+<base64>`. */
      readonly logKey: string
      /** Where the log lies; at the endpoint unless told. */
      readonly url?: string
      /** Keys of those who watch the log. */
      readonly witnesses?: readonly string[]
      /** How many of them must have signed; all unless told. */
      readonly quorum?: number
      /**
       * How many hours ago log and witnesses may have signed; 72 unless told. Then calls fail: an
       * older state says nothing about manifests that were published since.
       */
      readonly maxAgeHours?: number
    }
  /** The document itself, exact bytes: it is enforced for good and no log is asked. */
  | { readonly pinned: Uint8Array | string }

export type ConnectOptions = {
  readonly apiKey: string
  /** The URL of the gateway. */
  readonly endpoint: string
  readonly manifest: ManifestOption
  /** The vendors' root certificates that are trusted; the pinned ones unless told. */
  readonly roots?: Omit<Roots, 'software'>
  /** Unknown revocation is tolerated, and revocation for 48 hours, unless told. */
  readonly revocation?: RevocationPolicy
  /** `isolated` unless told. */
  readonly cacheSalt?: CacheSaltPolicy
  /** How answers are cut, so that lengths and times tell little; `default` unless told. */
  readonly shape?: TrafficShape
  /** How many bytes of an answer that is not streamed are taken; 256 MiB unless told. */
  readonly maxAnswerBytes?: number
  /** How long answers may take; 10 minutes to begin, one without progress, two hours in all unless told. */
  readonly timeouts?: Partial<Timeouts>
  /** Where the state of the log is remembered; in memory unless told. */
  readonly storage?: LogStorage
  /** From `@privatemode/sdk/software`: accepts workers without protected hardware. */
  readonly software?: SoftwareAttestation
  readonly fetch?: Fetch
  readonly now?: () => Date
  /** For tests. Request ids come from it, too: they are the caller's own, and no bill or limit depends on them. */
  readonly random?: (length: number) => Bytes
  readonly onEvent?: (event: ClientEvent) => void
}

/** `connect` of `@privatemode/sdk/core`, which holds no verifier that it is not given. */
export type CoreConnectOptions = ConnectOptions & { readonly hardware: HardwareVerifiers }

/** How many verified workers a call is sealed to: enough for the gateway to choose and to fail over. */
const candidates = 3
const retryBudgetMs = 15_000

export function clientOptions(options: CoreConnectOptions): ClientOptions {
  requireText(options.apiKey, 'apiKey')
  const { software } = options
  const fetch = options.fetch ?? platformFetch
  const endpoint = requirePrivate(requireUrl(options.endpoint, 'endpoint'))
  const { random = clientCrypto.random } = options
  return {
    endpoint,
    manifestSource: manifestSource(options, endpoint, fetch),
    roots: { ...(options.roots ?? vendorRoots), software: software?.roots ?? [] },
    revocation: options.revocation ?? defaultRevocation,
    hardware: options.hardware,
    ...(software === undefined ? {} : { software: software.verifier }),
    crypto: { ...clientCrypto, random },
    fetch,
    shape: options.shape ?? 'default',
    now: options.now ?? (() => new Date()),
    onEvent: options.onEvent ?? (() => {}),
    maxAnswerBytes: requireCount(options.maxAnswerBytes ?? defaultMaxAnswerBytes, 'maxAnswerBytes'),
    candidates,
    retryBudgetMs,
    timeouts: requireTimes({ ...defaultTimeouts, ...options.timeouts }),
  }
}

/** Throws where `connect` would refuse these options, before anything is sent. */
export function checkOptions(options: ConnectOptions): void {
  clientOptions({ ...options, hardware: {} })
}

function manifestSource(
  { manifest, storage = memoryStorage(), now = () => new Date() }: ConnectOptions,
  endpoint: string,
  fetch: Fetch,
): ManifestSource {
  const record = async () => {}
  if ('pinned' in manifest) {
    const { pinned } = manifest
    const bytes = typeof pinned === 'string' ? new TextEncoder().encode(pinned) : pinned
    return createStaticSource(bytes, record)
  }
  const { logKey, witnesses = [], quorum = witnesses.length } = manifest
  requireText(logKey, 'manifest.logKey')
  const { maxAgeHours = defaultMaxLogAgeHours } = manifest
  const url = manifest.url ?? endpoint + fleetPaths.log
  return createLogSource({
    trust: { logKey, witnesses, quorum },
    read: fetchLog(requireUrl(url, 'manifest.url'), fetch),
    checkpoints: checkpointsIn(storage, logKey),
    record,
    now,
    maxAgeHours: requireCount(maxAgeHours, 'manifest.maxAgeHours'),
  })
}

// Where a request goes is ours to decide, not the answer's. Called by name: browsers insist on it.
const platformFetch: Fetch = (url, init) => fetch(url, { ...init, redirect: 'manual' })

function requireText(value: unknown, name: string): void {
  if (typeof value !== 'string' || value === '') invalid(`${name} is missing`)
}

function requireCount(value: number, name: string): number {
  return Number.isSafeInteger(value) && value > 0 ? value : invalid(`${name} is no positive number`)
}

function requireTimes(timeouts: Timeouts): Timeouts {
  for (const [name, ms] of Object.entries(timeouts)) requireCount(ms, `timeouts.${name}`)
  return timeouts
}

function requireUrl(value: unknown, name: string): string {
  requireText(value, name)
  try {
    const { protocol, search, hash, href } = new URL(String(value))
    if (!/^https?:$/.test(protocol) || search !== '' || hash !== '')
      invalid(`${name} is no base URL`)
    return href.replace(/\/+$/, '')
  } catch (cause) {
    if (cause instanceof PrivatemodeError) throw cause
    return invalid(`${name} is no URL`)
  }
}

/** The API key goes there with every call. */
function requirePrivate(endpoint: string): string {
  const { protocol, hostname } = new URL(endpoint)
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || isHere) return endpoint
  return invalid(
    'endpoint is plain http to another machine, which would show the API key; use https',
  )
}

function invalid(message: string): never {
  throw new PrivatemodeError('invalid_options', message, { retryable: false })
}
