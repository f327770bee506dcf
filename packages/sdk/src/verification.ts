/** What was verified, for people and programs to read: manifest, workers, every check. */
import type {
  AttestationErrorCode,
  AttestedWorker,
  Check,
  MachineIdentity,
  RevocationState,
} from '@privatemode/attestation'
import { AttestationError } from '@privatemode/attestation'
import type { ManifestKeeper } from './manifest-keeper.ts'
import type { RefusedWorker } from './refusals.ts'
import type { VerifiedWorkers } from './verified-workers.ts'

/** One verified worker. */
export type WorkerVerification = {
  readonly worker_id: string
  readonly hardware: boolean
  readonly revocation: RevocationState
  /** Identities of the hardware; `listed` if the manifest names this exact one. */
  readonly machine: readonly MachineIdentity[]
  readonly seal_key_id: string
  readonly verified_at: string
  readonly valid_until: string
  readonly models: readonly string[]
  readonly engine: string
  readonly build: string
  readonly checks: readonly Check[]
}

/** One worker that was refused or could not be reached. */
export type WorkerRefusal = {
  readonly worker_id: string
  readonly code: string
  readonly reason: string
  readonly checks: readonly Check[]
}

/** The current state of verification. */
export type Verification = {
  readonly manifest:
    | {
        readonly digest: string
        readonly serial: number
        readonly issued_at: string
        /** Null if the manifest sets no expiry. */
        readonly expires_at: string | null
        /** When the log and its witnesses last stated that it is the latest; null for a pinned manifest. */
        readonly log_signed_at: string | null
        /** From then on nothing is sealed under it unless it is renewed; null if nothing ends it. */
        readonly usable_until: string | null
        /** Why the log was refused since, such as `log_forked`; null if it was not. */
        readonly log_refused: AttestationErrorCode | null
        readonly evidence: 'hardware' | 'software'
        /** Null until a worker has been verified against it. */
        readonly enforced_since: string | null
      }
    | undefined
  readonly workers: readonly WorkerVerification[]
  readonly refused: readonly WorkerRefusal[]
}

export function formatVerification(keeper: ManifestKeeper, workers: VerifiedWorkers): Verification {
  const manifest = keeper.current
  return {
    manifest:
      manifest === undefined
        ? undefined
        : {
            digest: manifest.digest,
            serial: manifest.serial,
            issued_at: manifest.issuedAt.toISOString(),
            expires_at: manifest.expiresAt?.toISOString() ?? null,
            log_signed_at: keeper.freshness?.asOf.toISOString() ?? null,
            usable_until: keeper.usableUntil?.toISOString() ?? null,
            log_refused: keeper.logRefused ?? null,
            evidence: manifest.evidence,
            enforced_since: keeper.enforcedAt?.toISOString() ?? null,
          },
    workers: workers.all.map(formatWorker),
    refused: workers.refused.map(formatRefusal),
  }
}

function formatWorker(worker: AttestedWorker): WorkerVerification {
  return {
    worker_id: worker.workerId,
    hardware: worker.hardware,
    revocation: worker.revocation,
    machine: worker.machine,
    seal_key_id: worker.sealKey.id,
    verified_at: worker.verifiedAt.toISOString(),
    valid_until: worker.validUntil.toISOString(),
    models: worker.models.map(({ id }) => id),
    engine: worker.engine,
    build: worker.build,
    checks: worker.checks,
  }
}

function formatRefusal({ workerId, error }: RefusedWorker): WorkerRefusal {
  const attestation = error instanceof AttestationError ? error : undefined
  return {
    worker_id: workerId,
    code: attestation?.code ?? 'unreachable',
    reason: error.message,
    checks: attestation?.checks ?? [],
  }
}
