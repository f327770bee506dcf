/** What this client can show about its verification: the transcript, and bundles for offline checking. */
import { type AttestedWorker, formatEvidenceBundle } from '@privatemode/attestation'
import { formatHex } from '@privatemode/protocol/envelope'
import type { WorkerProof } from './options.ts'
import { PrivatemodeError } from './privatemode-error.ts'
import type { Receipt } from './receipted-answer.ts'
import type { Verification } from './verification.ts'

/** What a bundle is about: one answer or one worker; by default, the worker verified last. */
export type BundleSubject = { readonly receipt: Receipt } | { readonly workerId: string }

type Kept = { readonly workerId: string; readonly verifiedAt: Date; readonly proof: WorkerProof }

/** Evidence can be megabytes; it is kept for this many workers. */
const maxKept = 16

/** Records the evidence behind each verification. */
export class VerificationRecord {
  readonly #transcript: () => Verification
  readonly #now: () => Date
  /** Keyed by the digest of the statement, which receipts name too; oldest first. */
  readonly #kept = new Map<string, Kept>()

  constructor(transcript: () => Verification, now: () => Date) {
    this.#transcript = transcript
    this.#now = now
  }

  /** The manifest, workers and every check, as of now. */
  transcript(): Verification {
    return this.#transcript()
  }

  /**
   * Everything a verification used, in one file: `privatemode-verify bundle verify` checks it
   * without a network, as of `verifiedAt`.
   */
  bundle(subject?: BundleSubject): { readonly bytes: Uint8Array; readonly verifiedAt: Date } {
    const { proof, verifiedAt } = this.#find(subject)
    const { nonce, statement, evidence, manifest, logProof } = proof
    const bytes = formatEvidenceBundle({
      madeAt: this.#now(),
      nonce,
      statement,
      evidence,
      manifest: manifest.bytes,
      logProof,
      receipt: subject !== undefined && 'receipt' in subject ? subject.receipt.signed : undefined,
    })
    return { bytes, verifiedAt }
  }

  keep(worker: AttestedWorker, proof: WorkerProof): void {
    const key = formatHex(worker.statementDigest)
    this.#kept.delete(key)
    this.#kept.set(key, { workerId: worker.workerId, verifiedAt: worker.verifiedAt, proof })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest)
  }

  #find(subject: BundleSubject | undefined): Kept {
    const latestFirst = [...this.#kept].reverse()
    const found = latestFirst.find(([statement, { workerId }]) => {
      if (subject === undefined) return true
      if ('receipt' in subject) return statement === subject.receipt.statementDigest
      return workerId === subject.workerId
    })
    if (found !== undefined) return found[1]
    throw new PrivatemodeError('invalid_options', 'no evidence is kept for that worker', {
      retryable: false,
    })
  }
}
