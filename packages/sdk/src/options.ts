/** What a client is told at its start. */
import type {
  AttestedWorker,
  Evidence,
  HardwareVerifiers,
  Manifest,
  ManifestSource,
  RevocationPolicy,
  RevocationState,
  Roots,
  SoftwareVerifier,
} from '@privatemode/attestation'
import type { Bytes, CryptoProvider, TrafficShape } from '@privatemode/protocol/envelope'

/** `fetch` as the SDK calls it; the platform's own fits. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What a program may want to know; no event holds content, keys or salts. */
export type ClientEvent =
  /** The manifest is another one than `from`, which is undefined for the first. */
  | {
      readonly kind: 'manifest-changed'
      readonly digest: string
      readonly serial: number
      readonly from: string | undefined
    }
  /**
   * The manifest log could not be read. The manifest in force is kept, until `until` at most; then
   * calls fail. `asOf` is when the log was last known to have nothing newer.
   */
  | {
      readonly kind: 'log-unreachable'
      readonly reason: string
      readonly asOf: Date | undefined
      readonly until: Date | undefined
    }
  /** Nobody has signed the log, or issued a new manifest, for a while; calls fail from `until` on. */
  | {
      readonly kind: 'manifest-aging'
      readonly what: 'log' | 'manifest'
      readonly asOf: Date | undefined
      readonly until: Date
    }
  | {
      readonly kind: 'verified'
      readonly workerId: string
      readonly hardware: boolean
      /** `not checked`: an answer was left out, and nothing demanded it. */
      readonly revocation: RevocationState
    }
  | { readonly kind: 'refused'; readonly workerId: string; readonly code: string }
  | { readonly kind: 'unreachable'; readonly workerId: string; readonly code: string }

/** What a worker showed when it was verified, and under which manifest. */
export type WorkerProof = {
  readonly nonce: Bytes
  readonly statement: Bytes
  readonly evidence: Evidence
  readonly manifest: Manifest
  readonly logProof: Bytes | undefined
}

/** How long an answer may take; a healthy stream sends something all the time. */
export type Timeouts = {
  /** Until the answer begins, which an answer that is not streamed does when it is complete. */
  readonly firstByteMs: number
  /** Without an authentic frame, once it has begun. */
  readonly silenceMs: number
  /** From its first byte to its last. */
  readonly totalMs: number
}

export const defaultTimeouts: Timeouts = {
  firstByteMs: 600_000,
  silenceMs: 60_000,
  totalMs: 7_200_000,
}

export type ClientOptions = {
  /** Base URL of the gateway, without a path. */
  readonly endpoint: string
  readonly manifestSource: ManifestSource
  readonly roots: Roots
  readonly revocation: RevocationPolicy
  /** Which kinds of protected hardware are accepted; evidence of any other kind is refused. */
  readonly hardware?: HardwareVerifiers
  /** Only from `@privatemode/sdk/software`; its absence refuses software evidence. */
  readonly software?: SoftwareVerifier
  readonly crypto: CryptoProvider
  readonly fetch: Fetch
  readonly shape: TrafficShape
  readonly now: () => Date
  readonly onEvent: (event: ClientEvent) => void
  /** Takes what a worker was verified by, for evidence bundles; it can be megabytes. */
  readonly onEvidence?: (worker: AttestedWorker, proof: WorkerProof) => void
  /** How many verified workers a request is sealed to. */
  readonly candidates: number
  /** How many bytes of an answer that is not streamed are held in memory; more is an error. */
  readonly maxAnswerBytes: number
  /** How long one call may keep trying before its first byte. */
  readonly retryBudgetMs: number
  readonly timeouts?: Timeouts
}

/** Room for the largest batch of embeddings that model servers take, as JSON. */
export const defaultMaxAnswerBytes = 256 * 1024 * 1024

export const defaultRevocation: RevocationPolicy = { allowUnknown: true, revokedGraceHours: 48 }
