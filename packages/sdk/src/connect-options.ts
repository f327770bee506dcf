/** The options of `Privatemode.connect`, and their defaults. */
import {
  createLogSourceWith,
  createStaticSourceWith,
  defaultMaxLogAgeHours,
  fetchLog,
  type HardwareVerifiers,
  type ManifestSource,
  type RevocationPolicy,
  type Roots,
} from '@privatemode/attestation'
import type { Bytes, CryptoProvider, TrafficShape } from '@privatemode/protocol/envelope'
import { fleetPaths } from '@privatemode/protocol/fleet'
import { isApiKey } from './backend.ts'
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

/** Which manifest defines the workers to accept. */
export type ManifestOption =
  | {
      /** The verification key of the manifest log, from its operator: `<name>+<id>+<base64>`. */
      readonly logKey: string
      /** The URL of the log; defaults to the endpoint. */
      readonly url?: string
      /** Verification keys of the log's witnesses. */
      readonly witnesses?: readonly string[]
      /** How many of the witnesses must have signed; defaults to all of them. */
      readonly quorum?: number
      /**
       * The maximum age, in hours, of the signatures of the log and its witnesses; defaults to 72.
       * After that calls fail: an older state says nothing about manifests published since.
       */
      readonly maxAgeHours?: number
    }
  /** The manifest itself, as exact bytes: it is enforced permanently and no log is consulted. */
  | { readonly pinned: Uint8Array | string }

/** Options of {@link Privatemode.connect}. */
export type ConnectOptions = {
  readonly apiKey: string
  /** The URL of the gateway. */
  readonly endpoint: string
  readonly manifest: ManifestOption
  /** The vendors' trusted root certificates; defaults to the pinned ones. */
  readonly roots?: Omit<Roots, 'software'>
  /** By default, unknown revocation status is tolerated, and a revoked certificate for 48 hours. */
  readonly revocation?: RevocationPolicy
  /** Defaults to `isolated`. */
  readonly cacheSalt?: CacheSaltPolicy
  /** How answers are padded and timed, so that lengths and timing reveal little; defaults to `default`. */
  readonly shape?: TrafficShape
  /** The maximum size in bytes of an answer that is not streamed; defaults to 256 MiB. */
  readonly maxAnswerBytes?: number
  /**
   * How long answers may take, at most 24 days; defaults to 10 minutes to start, one minute without
   * progress, two hours in total.
   */
  readonly timeouts?: Partial<Timeouts>
  /** Where the state of the log is stored; defaults to memory. */
  readonly storage?: LogStorage
  /** From `@privatemode/sdk/software`: accepts workers without protected hardware. */
  readonly software?: SoftwareAttestation
  readonly fetch?: Fetch
  readonly now?: () => Date
  /**
   * For tests. Request ids are drawn from it too: they are the caller's own, and no bill or limit
   * depends on them.
   */
  readonly random?: (length: number) => Bytes
  readonly onEvent?: (event: ClientEvent) => void
}

/** Options of `connect` from `@privatemode/sdk/core`, which contains no verifier unless it is passed in. */
export type CoreConnectOptions = ConnectOptions & {
  readonly hardware: HardwareVerifiers
  /** What seals and opens; defaults to WebCrypto. */
  readonly crypto?: CryptoProvider | undefined
}

/** How many verified workers a call is sealed to: enough for the gateway to choose from and to fail over. */
const candidates = 3
const retryBudgetMs = 15_000

export function clientOptions(options: CoreConnectOptions): ClientOptions {
  requireText(options.apiKey, 'apiKey')
  if (!isApiKey(options.apiKey)) invalid('apiKey has invalid characters')
  const { software } = options
  const fetch = options.fetch ?? platformFetch
  const endpoint = requirePrivate(requireUrl(options.endpoint, 'endpoint'))
  const { crypto = clientCrypto, random = crypto.random } = options
  return {
    endpoint,
    manifestSource: manifestSource(options, endpoint, fetch),
    roots: {
      ...(options.roots ?? pinnedRoots(options.hardware)),
      software: software?.roots ?? [],
    },
    revocation: options.revocation ?? defaultRevocation,
    hardware: options.hardware,
    ...(software === undefined ? {} : { software: software.verifier }),
    crypto: { ...crypto, random },
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

/** Throws if `connect` would refuse these options, before anything is sent. */
export function checkOptions(options: ConnectOptions): void {
  clientOptions({ ...options, hardware: {} })
}

const noRoots = { amd: [], intel: [], nvidiaDevice: [], nvidiaRim: [] }

/** Those of the vendors whose evidence is verified. */
function pinnedRoots({ snp, tdx, nvidiaGpu }: HardwareVerifiers): Omit<Roots, 'software'> {
  return { ...noRoots, ...snp?.roots, ...tdx?.roots, ...nvidiaGpu?.roots }
}

function manifestSource(
  options: CoreConnectOptions,
  endpoint: string,
  fetch: Fetch,
): ManifestSource {
  const { manifest, storage = memoryStorage(), now = () => new Date() } = options
  const readers = { ...options.hardware, software: options.software?.verifier }
  const record = async () => {}
  if ('pinned' in manifest) {
    const { pinned } = manifest
    const bytes = typeof pinned === 'string' ? new TextEncoder().encode(pinned) : pinned
    return createStaticSourceWith(readers, bytes, record)
  }
  const { logKey, witnesses = [], quorum = witnesses.length } = manifest
  requireText(logKey, 'manifest.logKey')
  const { maxAgeHours = defaultMaxLogAgeHours } = manifest
  const url = manifest.url ?? endpoint + fleetPaths.log
  return createLogSourceWith(readers, {
    trust: { logKey, witnesses, quorum },
    read: fetchLog(requireUrl(url, 'manifest.url'), fetch),
    checkpoints: checkpointsIn(storage, logKey),
    record,
    now,
    maxAgeHours: requireCount(maxAgeHours, 'manifest.maxAgeHours'),
  })
}

// Never follow redirects: the response must not decide where a request goes. Called by name, as
// browsers require.
const platformFetch: Fetch = (url, init) => fetch(url, { ...init, redirect: 'manual' })

function requireText(value: unknown, name: string): void {
  if (typeof value !== 'string' || value === '') invalid(`${name} is missing`)
}

function requireCount(value: number, name: string, max = Number.MAX_SAFE_INTEGER): number {
  return Number.isSafeInteger(value) && value > 0 && value <= max
    ? value
    : invalid(`${name} must be an integer from 1 to ${max}`)
}

/** 24 days: a timer for longer than that fires at once. */
const maxTimeoutMs = 2 ** 31 - 1

function requireTimes(timeouts: Timeouts): Timeouts {
  for (const [name, ms] of Object.entries(timeouts)) {
    requireCount(ms, `timeouts.${name}`, maxTimeoutMs)
  }
  return timeouts
}

function requireUrl(value: unknown, name: string): string {
  requireText(value, name)
  try {
    const { protocol, search, hash, href } = new URL(String(value))
    if (!/^https?:$/.test(protocol) || search !== '' || hash !== '')
      invalid(`${name} must be an http(s) base URL without query or fragment`)
    return href.replace(/\/+$/, '')
  } catch (cause) {
    if (cause instanceof PrivatemodeError) throw cause
    return invalid(`${name} must be a URL`)
  }
}

/** Every call sends the API key to this endpoint. */
function requirePrivate(endpoint: string): string {
  const { protocol, hostname } = new URL(endpoint)
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || isHere) return endpoint
  return invalid(
    'endpoint is plain http to another machine, which would expose the API key; use https',
  )
}

function invalid(message: string): never {
  throw new PrivatemodeError('invalid_options', message, { retryable: false })
}
