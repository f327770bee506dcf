/** A root, a worker and a manifest for software attestation, for tests that change one thing at a time. */
import { reportData } from '../binding.ts'
import type { Bytes } from '../bytes.ts'
import { formatHex } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import type { Evidence, Roots } from '../evidence.ts'
import { formatManifest, type ManifestDraft, parseManifest } from '../manifest/manifest.ts'
import type { ModelListing } from '../model-listing.ts'
import { vendorRoots } from '../roots.ts'
import {
  createSoftwareRoot,
  issueSoftwareLeaf,
  produceSoftwareEvidence,
  type SoftwareIdentity,
  type SoftwareReportInputs,
  softwareRootFingerprint,
} from '../software/producer.ts'
import { softwareVerifier } from '../software/verifier.ts'
import { formatStatement, type Statement, sealKeyId } from '../statement.ts'
import type { VerifyWorkerInputs } from '../verify-worker.ts'

export const noon = new Date('2026-03-01T12:00:00Z')

export const chatModel: ModelListing = {
  id: 'chat-small',
  digest: `sha256:${'1f'.repeat(32)}`,
  tasks: ['generate'],
  contextLength: 2048,
  displayName: 'Chat, small',
  created: 1_760_000_000,
}

export type SoftwareWorld = {
  readonly root: SoftwareIdentity
  readonly leaf: SoftwareIdentity
  readonly fingerprint: string
  readonly measurement: Bytes
  readonly roots: Roots
  readonly nonce: Bytes
  readonly statement: Statement
  readonly draft: ManifestDraft
  /** Evidence for `bytes`, with changes to the report if given. */
  readonly attest: (bytes: Bytes, changes?: Partial<SoftwareReportInputs>) => Promise<Evidence>
  /** All inputs of `verifyWorker`, all valid. */
  readonly inputs: (changes?: {
    statement?: Partial<Statement>
    draft?: Partial<ManifestDraft>
    report?: Partial<SoftwareReportInputs>
  }) => Promise<VerifyWorkerInputs>
}

export async function softwareWorld(): Promise<SoftwareWorld> {
  const root = await createSoftwareRoot({ name: 'test root', at: noon, days: 365 })
  const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at: noon, days: 1 })
  const fingerprint = await softwareRootFingerprint(root)
  const measurement = await sha384(new TextEncoder().encode('a build'))
  const roots = { ...vendorRoots, software: [fingerprint] }
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const publicKey = new Uint8Array(1216).fill(7)
  const statement: Statement = {
    workerId: 'w_test',
    role: 'worker',
    sealKey: {
      id: await sealKeyId(publicKey),
      kem: 'X-Wing',
      publicKey,
      expiresAt: new Date('2026-03-02T12:00:00Z'),
    },
    receiptKey: new Uint8Array(32).fill(9),
    models: [chatModel],
    engine: 'llama.cpp 1',
    build: 'a build',
  }
  const rule = {
    kind: 'software',
    measurements: [formatHex(measurement)],
    root: fingerprint,
    minimum_tcb: 1,
  }
  const draft: ManifestDraft = {
    issuedAt: '2026-03-01T00:00:00Z',
    expiresAt: '2026-05-30T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [rule] }, proxyless: { accept: [rule] } },
    models: [chatModel],
  }
  const attest: SoftwareWorld['attest'] = async (bytes, changes) => {
    const bound = await reportData({ nonce, statement: bytes, deviceReports: [] })
    const report = { measurement, reportData: bound, ...changes }
    return { cpu: await produceSoftwareEvidence(leaf, report), devices: [] }
  }
  const inputs: SoftwareWorld['inputs'] = async (changes = {}) => {
    const bytes = formatStatement({ ...statement, ...changes.statement })
    return {
      nonce,
      statement: bytes,
      evidence: await attest(bytes, changes.report),
      manifest: await parseManifest(formatManifest({ ...draft, ...changes.draft })),
      roots,
      revocation: { allowUnknown: false, revokedGraceHours: 0 },
      at: noon,
      software: softwareVerifier,
    }
  }
  return { root, leaf, fingerprint, measurement, roots, nonce, statement, draft, attest, inputs }
}
