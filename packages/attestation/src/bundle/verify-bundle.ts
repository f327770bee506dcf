/** Verifies an evidence bundle without a network, as of a given time. */
import type { AttestedWorker } from '../attested-worker.ts'
import { formatHex } from '../bytes.ts'
import { namedSha256 } from '../digest.ts'
import type { RevocationPolicy, Roots } from '../evidence.ts'
import { formatInstant } from '../fields.ts'
import { requireFreshLog } from '../log/freshness.ts'
import { verifyLogProof } from '../log/log-proof.ts'
import type { LogTrust } from '../log/log-trust.ts'
import { type Manifest, parseManifest } from '../manifest/manifest.ts'
import { type ReceiptClaims, verifyReceipt } from '../receipt.ts'
import type { SoftwareVerifier } from '../software/verifier.ts'
import type { Role } from '../statement.ts'
import { AttestationError, type Check, Transcript } from '../verdict.ts'
import { verifyWorker } from '../verify-worker.ts'
import { type Bundle, parseEvidenceBundle } from './bundle.ts'

/** Why the manifest in a bundle is trusted: anyone can write one. */
export type ManifestTrust =
  | { readonly kind: 'log'; readonly trust: LogTrust; readonly maxAgeHours: number }
  /** `sha256:` and 64 hex digits. */
  | { readonly kind: 'digest'; readonly digest: string }

export type VerifyBundleInputs = {
  readonly manifestTrust: ManifestTrust
  readonly roots: Roots
  readonly revocation: RevocationPolicy
  readonly at: Date
  readonly role?: Role
  readonly software?: SoftwareVerifier
  /** Digests of the exchange's bodies, if available, to be compared with the receipt. */
  readonly requestDigest?: string
  readonly responseDigest?: string
}

export type VerifiedBundle = {
  readonly madeAt: Date
  readonly worker: AttestedWorker
  readonly manifest: Manifest
  readonly receipt: ReceiptClaims | undefined
  readonly checks: readonly Check[]
}

/** Throws an {@link AttestationError} with every check up to and including the one that failed. */
export async function verifyBundle(
  bytes: Uint8Array,
  inputs: VerifyBundleInputs,
): Promise<VerifiedBundle> {
  const transcript = new Transcript()
  const bundle = transcript.attempt('bundle/form', () => parseEvidenceBundle(bytes))
  transcript.pass('bundle/form', `${bytes.length} bytes, nonce ${formatHex(bundle.nonce)}`)
  await requireTrustedManifest(bundle, inputs, transcript)
  const manifest = await parseManifest(bundle.manifest).catch((cause) => rethrow(cause, transcript))
  transcript.pass('manifest/form', `serial ${manifest.serial}, ${manifest.digest}`)
  const { roots, revocation, at } = inputs
  const { nonce, statement, evidence } = bundle
  const worker = await verifyWorker({
    ...{ nonce, statement, evidence, manifest, roots, revocation, at },
    ...(inputs.role !== undefined && { role: inputs.role }),
    ...(inputs.software !== undefined && { software: inputs.software }),
  }).catch((cause) => rethrow(cause, transcript))
  transcript.append(worker.checks)
  const receipt = await verifyBundledReceipt(bundle, worker, inputs, transcript)
  return { madeAt: bundle.madeAt, worker, manifest, receipt, checks: transcript.checks }
}

async function requireTrustedManifest(
  bundle: Bundle,
  { manifestTrust: trust, at }: VerifyBundleInputs,
  transcript: Transcript,
): Promise<void> {
  switch (trust.kind) {
    case 'log': {
      const { logProof } = bundle
      if (logProof === undefined) {
        return transcript.fail('log/proof', 'log_inclusion_invalid', 'bundle has no log proof')
      }
      const { index, checkpoint } = await verifyLogProof(
        bundle.manifest,
        logProof,
        trust.trust,
      ).catch((cause) => rethrow(cause, transcript, 'log/proof'))
      const witnesses = checkpoint.witnesses.join(', ') || 'no witness'
      transcript.pass(
        'log/proof',
        `entry ${index} of ${checkpoint.size} in ${checkpoint.origin}, cosigned by ${witnesses}`,
      )
      requireLatest(index, checkpoint.size, transcript)
      requireFreshProof(checkpoint.asOf, at, trust.maxAgeHours, transcript)
      return
    }
    case 'digest': {
      const digest = await namedSha256(bundle.manifest)
      transcript.require(
        digest === trust.digest,
        'manifest/digest',
        'manifest_refused',
        `manifest is ${digest}, expected ${trust.digest}`,
      )
      transcript.skip('log/proof', 'the manifest was named by its digest')
    }
  }
}

// Clients enforce only the last entry; an earlier one has been superseded.
function requireLatest(index: number, size: number, transcript: Transcript): void {
  transcript.require(
    index === size - 1,
    'log/latest',
    'manifest_superseded',
    `manifest is entry ${index}, the latest of that checkpoint is ${size - 1}`,
  )
}

function requireFreshProof(
  asOf: Date | undefined,
  at: Date,
  maxAgeHours: number,
  transcript: Transcript,
): void {
  const id = 'log/age'
  const fresh = transcript.attempt(id, () => requireFreshLog(asOf, at, maxAgeHours))
  transcript.pass(id, `signed as the latest state at ${formatInstant(fresh.asOf)}`)
}

async function verifyBundledReceipt(
  bundle: Bundle,
  worker: AttestedWorker,
  inputs: VerifyBundleInputs,
  transcript: Transcript,
): Promise<ReceiptClaims | undefined> {
  const { requestDigest, responseDigest } = inputs
  if (bundle.receipt === undefined) {
    if (requestDigest !== undefined || responseDigest !== undefined) {
      transcript.fail('receipt/signature', 'receipt_invalid', 'bundle has no receipt')
    }
    transcript.skip('receipt/signature', 'the bundle has no receipt')
    return undefined
  }
  const claims = await verifyReceipt(bundle.receipt, worker, transcript)
  requireDigest('request', claims.requestDigest, requestDigest, transcript)
  requireDigest('response', claims.responseDigest, responseDigest, transcript)
  return claims
}

function requireDigest(
  what: string,
  seen: string,
  expected: string | undefined,
  transcript: Transcript,
): void {
  if (expected === undefined) {
    transcript.skip(`receipt/${what}`, `the ${what} was not given; its SHA-256 is ${seen}`)
    return
  }
  const detail = `${what} has SHA-256 ${seen}, expected ${expected}`
  transcript.require(seen === expected, `receipt/${what}`, 'receipt_invalid', detail)
}

// Adds the checks made here to a refusal that was raised elsewhere.
function rethrow(cause: unknown, transcript: Transcript, id = 'manifest/form'): never {
  if (!(cause instanceof AttestationError)) throw cause
  if (cause.checks.length === 0) return transcript.fail(id, cause.code, cause.message, cause)
  const checks = [...transcript.checks, ...cause.checks]
  throw new AttestationError(cause.code, cause.message, { cause, checks })
}
