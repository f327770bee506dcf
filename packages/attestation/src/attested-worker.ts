/** The proof that a worker was verified: requests can be sealed to nothing else. */
import type { Bytes } from './bytes.ts'
import type { MachineIdentity } from './machine-identity.ts'
import type { ModelListing } from './model-listing.ts'
import type { RevocationState } from './revocation-state.ts'
import type { Role, SealKey } from './statement.ts'
import type { Check } from './verdict.ts'

declare const attested: unique symbol

export type WorkerFacts = {
  readonly workerId: string
  readonly role: Role
  readonly sealKey: Pick<SealKey, 'id' | 'publicKey' | 'expiresAt'>
  /** Ed25519 public key, 32 bytes. */
  readonly receiptKey: Bytes
  /** SHA-256 of the statement's bytes. */
  readonly statementDigest: Bytes
  /** As listed in the manifest; models of the statement that it does not list are left out. */
  readonly models: readonly ModelListing[]
  readonly engine: string
  readonly build: string
  /** False for software attestation, which protects nothing. */
  readonly hardware: boolean
  /** The identities the hardware claims, and whether the manifest lists this exact machine. */
  readonly machine: readonly MachineIdentity[]
  /** Whether some certificate might be revoked without this having been checked. */
  readonly revocation: RevocationState
  readonly verifiedAt: Date
  /** No request may be sealed to this worker at or after this time. */
  readonly validUntil: Date
  readonly manifestDigest: string
  readonly checks: readonly Check[]
}

export type AttestedWorker = WorkerFacts & { readonly [attested]: true }

// The compiler's brand does not exist at run time and a cast can forge it; membership here cannot
// be forged.
const registry = new WeakSet<object>()

/** True only for values that this program's own verification created. */
export function isAttestedWorker(value: unknown): value is AttestedWorker {
  return typeof value === 'object' && value !== null && registry.has(value)
}

/** Called only by `verifyWorker`, once every check has passed; not exported from this package. */
export function attestWorker(facts: WorkerFacts): AttestedWorker {
  const worker = Object.freeze({ ...facts }) as AttestedWorker
  registry.add(worker)
  return worker
}
