/** The options of a client. */
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

/** `fetch` as the SDK calls it; the platform's own is compatible. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Events about verification; none contains content, keys or salts. */
export type ClientEvent =
  /** A manifest other than `from`, which is undefined for the first, is now in force. */
  | {
      readonly kind: 'manifest-changed'
      readonly digest: string
      readonly serial: number
      readonly from: string | undefined
    }
  /**
   * The manifest log could not be read. The manifest in force stays in use until `until` at most;
   * then calls fail. `asOf` is when the log was last known to have nothing newer.
   */
  | {
      readonly kind: 'log-unreachable'
      readonly reason: string
      readonly asOf: Date | undefined
      readonly until: Date | undefined
    }
  /** The log has not been signed, or no new manifest issued, for a while; calls fail from `until` on. */
  | {
      readonly kind: 'manifest-aging'
      readonly what: 'log' | 'manifest'
      readonly asOf: Date | undefined
      readonly until: Date
    }
  /** An earlier warning about the log no longer applies: it was read, or signed, again. */
  | { readonly kind: 'log-recovered'; readonly warning: 'log-unreachable' | 'manifest-aging' }
  | {
      readonly kind: 'verified'
      readonly workerId: string
      readonly hardware: boolean
      /** `not checked`: revocation data was not available, and nothing required it. */
      readonly revocation: RevocationState
    }
  | { readonly kind: 'refused'; readonly workerId: string; readonly code: string }
  | { readonly kind: 'unreachable'; readonly workerId: string; readonly code: string }

/** The evidence a worker was verified by, and under which manifest. */
export type WorkerProof = {
  readonly nonce: Bytes
  readonly statement: Bytes
  readonly evidence: Evidence
  readonly manifest: Manifest
  readonly logProof: Bytes | undefined
}

/** How long an answer may take; a healthy stream sends data continuously. */
export type Timeouts = {
  /** Until the answer starts; an answer that is not streamed starts when it is complete. */
  readonly firstByteMs: number
  /** Without an authentic frame, once the answer has started. */
  readonly silenceMs: number
  /** From the first byte to the last. */
  readonly totalMs: number
}

export const defaultTimeouts: Timeouts = {
  firstByteMs: 600_000,
  silenceMs: 60_000,
  totalMs: 7_200_000,
}

/** Options of the lower-level client; `Privatemode.connect` fills them in. */
export type ClientOptions = {
  /** The base URL of the gateway, without a path. */
  readonly endpoint: string
  readonly manifestSource: ManifestSource
  readonly roots: Roots
  readonly revocation: RevocationPolicy
  /** The kinds of protected hardware to accept; evidence of any other kind is refused. */
  readonly hardware?: HardwareVerifiers
  /** Only from `@privatemode/sdk/software`; without it, software evidence is refused. */
  readonly software?: SoftwareVerifier
  readonly crypto: CryptoProvider
  readonly fetch: Fetch
  readonly shape: TrafficShape
  readonly now: () => Date
  readonly onEvent: (event: ClientEvent) => void
  /** Receives the evidence a worker was verified by, for evidence bundles; it can be megabytes. */
  readonly onEvidence?: (worker: AttestedWorker, proof: WorkerProof) => void
  /** How many verified workers a request is sealed to. */
  readonly candidates: number
  /** How many bytes of an answer that is not streamed are buffered; more is an error. */
  readonly maxAnswerBytes: number
  /** How long one call may be retried before its first byte. */
  readonly retryBudgetMs: number
  readonly timeouts?: Timeouts
}

/** Large enough for the largest batch of embeddings that model servers accept, as JSON. */
export const defaultMaxAnswerBytes = 256 * 1024 * 1024

/** Unknown revocation status is tolerated, and a revoked certificate for 48 hours. */
export const defaultRevocation: RevocationPolicy = { allowUnknown: true, revokedGraceHours: 48 }
