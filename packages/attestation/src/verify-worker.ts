/** The decision: may this machine read the prompt? Evidence, manifest, roots and time decide. */
import { appraiseEvidence } from './appraise-worker.ts'
import { type AttestedWorker, attestWorker } from './attested-worker.ts'
import { authenticateEvidence } from './authenticate-worker.ts'
import { sha256 } from './digest.ts'
import type { Evidence, RevocationPolicy, Roots } from './evidence.ts'
import { formatInstant } from './fields.ts'
import { hardwareVerifiers } from './hardware-verifiers.ts'
import { readMachine } from './machine-identity.ts'
import type { Manifest } from './manifest/manifest.ts'
import { tightenRevocation } from './manifest/revocation-rule.ts'
import type { ModelListing } from './model-listing.ts'
import { readRevocationState } from './revocation-state.ts'
import type { SoftwareVerifier } from './software/verifier.ts'
import { parseStatement, type Role, type Statement } from './statement.ts'
import { AttestationError, Transcript } from './verdict.ts'
import type { HardwareVerifiers, Verifiers } from './verifiers.ts'

export type VerifyWorkerInputs = {
  /** The 32 bytes that this client drew for this exchange only. */
  readonly nonce: Uint8Array
  /** The exact bytes as received. */
  readonly statement: Uint8Array
  readonly evidence: Evidence
  readonly manifest: Manifest
  readonly roots: Roots
  readonly revocation: RevocationPolicy
  readonly at: Date
  /** The role the machine is to be used in; defaults to `worker`. */
  readonly role?: Role
  /** Absent in production: software evidence is then refused, whatever the manifest says. */
  readonly software?: SoftwareVerifier
}

/** {@link verifyWorkerWith} all available hardware verifiers. */
export function verifyWorker(inputs: VerifyWorkerInputs): Promise<AttestedWorker> {
  return verifyWorkerWith(hardwareVerifiers, inputs)
}

/**
 * Throws an {@link AttestationError} with every check up to and including the one that failed.
 * Evidence of a kind that `hardware` has no verifier for is refused.
 */
export async function verifyWorkerWith(
  hardware: HardwareVerifiers,
  inputs: VerifyWorkerInputs,
): Promise<AttestedWorker> {
  const transcript = new Transcript()
  try {
    return await verify({ ...hardware, software: inputs.software }, inputs, transcript)
  } catch (cause) {
    if (!(cause instanceof AttestationError)) throw cause
    if (cause.checks.length >= transcript.checks.length) throw cause
    throw new AttestationError(cause.code, cause.message, { cause, checks: transcript.checks })
  }
}

async function verify(
  verifiers: Verifiers,
  inputs: VerifyWorkerInputs,
  transcript: Transcript,
): Promise<AttestedWorker> {
  const { evidence, manifest, roots, revocation, at, role = 'worker' } = inputs
  const hardware = evidence.cpu.kind !== 'software'
  // The third gate: the manifest itself must declare software evidence.
  transcript.require(
    hardware || manifest.evidence === 'software',
    'manifest/evidence',
    'software_refused',
    `evidence is ${evidence.cpu.kind}, manifest is of ${manifest.evidence} evidence`,
  )
  const policy = manifest.roles[role]
  if (policy === undefined) {
    return transcript.fail('manifest/role', 'manifest_refused', `manifest has no role ${role}`)
  }
  const context = { roots, revocation: tightenRevocation(revocation, manifest.revocation), at }
  const { nonce, statement: bytes } = inputs
  const authentic = await authenticateEvidence(
    { nonce, statement: bytes, evidence, context, verifiers },
    transcript,
  )
  requireUnexpired(manifest, at, transcript)
  const rule = appraiseEvidence(authentic, policy, verifiers, transcript)

  const statement = await parseStatement(bytes)
  transcript.pass('statement/form', `worker ${statement.workerId}, build ${statement.build}`)
  transcript.require(
    statement.role === role,
    'statement/role',
    'manifest_refused',
    `statement is of a ${statement.role}, expected ${role}`,
  )
  transcript.require(
    at < statement.sealKey.expiresAt,
    'statement/seal-key-expiry',
    'statement_expired',
    `seal key expires ${formatInstant(statement.sealKey.expiresAt)}, time is ${at.toISOString()}`,
  )
  const models = listedModels(statement, manifest, transcript)
  const ends = [statement.sealKey.expiresAt, manifest.expiresAt]
    .flatMap((end) => (end === undefined ? [] : [end.getTime()]))
    .concat(at.getTime() + manifest.sessionMinutes * 60_000)
  return attestWorker({
    workerId: statement.workerId,
    role,
    sealKey: Object.freeze(statement.sealKey),
    receiptKey: statement.receiptKey,
    statementDigest: await sha256(bytes),
    models,
    engine: statement.engine,
    build: statement.build,
    hardware,
    machine: readMachine(authentic, rule),
    revocation: readRevocationState(transcript.checks),
    verifiedAt: at,
    validUntil: new Date(Math.min(...ends)),
    manifestDigest: manifest.digest,
    checks: transcript.checks,
  })
}

/** Refuses a manifest whose time is up; one may set no expiry. */
export function requireUnexpired({ expiresAt }: Manifest, at: Date, transcript: Transcript): void {
  const id = 'manifest/expiry'
  if (expiresAt === undefined) {
    transcript.skip(id, 'the manifest does not say when it expires')
    return
  }
  transcript.require(
    at < expiresAt,
    id,
    'manifest_expired',
    `manifest expires ${formatInstant(expiresAt)}, time is ${at.toISOString()}`,
  )
}

// Name and weights must both match: the same name with different weights is another model.
function listedModels(
  statement: Statement,
  manifest: Manifest,
  transcript: Transcript,
): readonly ModelListing[] {
  const models = manifest.models.filter(({ id, digest }) =>
    statement.models.some((model) => model.id === id && model.digest === digest),
  )
  const stated = statement.models.map((model) => model.id).join(', ')
  transcript.require(
    models.length > 0 || statement.role === 'proxyless',
    'statement/models',
    'model_unlisted',
    `worker has ${stated || 'none'}, manifest lists ${models.map((model) => model.id).join(', ') || 'none of them'}`,
  )
  return models
}
