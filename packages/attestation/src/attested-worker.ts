/** The proof that a worker was verified: the only thing that a request can be sealed to. */
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
  /** As the manifest lists them; models of the statement that it does not list are left out. */
  readonly models: readonly ModelListing[]
  readonly engine: string
  readonly build: string
  /** False for the software TEE, which protects nothing. */
  readonly hardware: boolean
  /** What the hardware says it is, and whether the manifest means this very machine. */
  readonly machine: readonly MachineIdentity[]
  /** Whether any certificate may be revoked without anyone having asked. */
  readonly revocation: RevocationState
  readonly verifiedAt: Date
  /** No request may be sealed to this worker at or after this time. */
  readonly validUntil: Date
  readonly manifestDigest: string
  readonly checks: readonly Check[]
}

export type AttestedWorker = WorkerFacts & { readonly [attested]: true }

// The compiler's brand is gone at run time and a cast forges it; membership here cannot be forged.
const registry = new WeakSet<object>()

/** True for what the verification of this program made, and for nothing else. */
export function isAttestedWorker(value: unknown): value is AttestedWorker {
  return typeof value === 'object' && value !== null && registry.has(value)
}

/** For `verifyWorker` alone, once every check has passed; not a public name of this package. */
export function attestWorker(facts: WorkerFacts): AttestedWorker {
  const worker = Object.freeze({ ...facts }) as AttestedWorker
  registry.add(worker)
  return worker
}
