/** Verifies software evidence: the same steps as for hardware, different roots, no protection. */
import { type Bytes, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, SoftwareEvidence } from '../evidence.ts'
import { Fields } from '../fields.ts'
import { parseJson } from '../strict-json.ts'
import type { Transcript } from '../verdict.ts'
import { fingerprint, parseCertificate } from '../x509/certificate.ts'
import { verifyChain } from '../x509/chain.ts'
import { verifySignature } from '../x509/signature.ts'
import { readSoftwareRule, type SoftwareRule } from './rule.ts'

export type SoftwareClaims = {
  /** Hex, 48 bytes. */
  readonly measurement: string
  readonly reportData: Bytes
  readonly debug: boolean
  readonly tcb: number
  /** Hex SHA-256 of the root certificate at the end of the chain. */
  readonly root: string
}

/** Passed to the verification by programs that intend to accept software evidence. */
export type SoftwareVerifier = {
  readonly readRule: (fields: Fields) => SoftwareRule
  readonly authenticate: (
    evidence: SoftwareEvidence,
    context: AuthenticityContext,
    transcript: Transcript,
  ) => Promise<SoftwareClaims>
  readonly appraise: (claims: SoftwareClaims, rule: SoftwareRule, transcript: Transcript) => void
}

/** The first of three gates: a program without this object accepts no software evidence at all. */
export const softwareVerifier: SoftwareVerifier = {
  readRule: readSoftwareRule,
  authenticate: authenticateSoftware,
  appraise: appraiseSoftware,
}

async function authenticateSoftware(
  evidence: SoftwareEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<SoftwareClaims> {
  // The second gate. Production has no software roots, whatever a manifest says.
  transcript.require(
    context.roots.software.length > 0,
    'software/roots',
    'software_refused',
    `${context.roots.software.length} software roots are trusted, expected one at least`,
  )
  const chain = evidence.certificates.map((text) =>
    parseCertificate(decode(text, 'certificate', transcript)),
  )
  const trust = { rootFingerprints: context.roots.software, at: context.at }
  await verifyChain(chain, trust, transcript, 'software/chain')
  const [leaf, root] = [chain.at(0), chain.at(-1)]
  if (leaf === undefined || root === undefined || leaf.isCa) {
    return transcript.fail('software/leaf', 'chain_mismatch', 'the leaf is an authority itself')
  }
  const report = decode(evidence.report, 'report', transcript)
  const signature = decode(evidence.signature, 'signature', transcript)
  const ecdsa = { kind: 'ecdsa', hash: 'SHA-384', encoding: 'raw' } as const
  transcript.require(
    await verifySignature(leaf.spki, ecdsa, report, signature),
    'software/report-signature',
    'signature_invalid',
    'the report must be signed by the leaf key (ECDSA P-384, SHA-384)',
  )
  const claims = { ...parseSoftwareReport(report), root: await fingerprint(root.der) }
  transcript.require(
    !claims.debug,
    'software/debug',
    'debug_enabled',
    `debug is ${claims.debug}, expected false`,
  )
  return claims
}

function appraiseSoftware(
  claims: SoftwareClaims,
  rule: SoftwareRule,
  transcript: Transcript,
): void {
  transcript.require(
    claims.root === rule.root,
    'software/manifest-root',
    'chain_untrusted',
    `root ${claims.root}, manifest expects ${rule.root}`,
  )
  transcript.require(
    rule.measurements.includes(claims.measurement),
    'software/measurement',
    'measurement_unknown',
    `measurement ${claims.measurement}, manifest lists ${rule.measurements.join(', ')}`,
  )
  transcript.require(
    claims.tcb >= rule.minimumTcb,
    'software/tcb',
    'tcb_too_old',
    `tcb ${claims.tcb}, manifest expects at least ${rule.minimumTcb}`,
  )
}

function parseSoftwareReport(bytes: Bytes): Omit<SoftwareClaims, 'root'> {
  const code = 'evidence_malformed'
  const json = parseJson(bytes, { what: 'software report', code, maxBytes: 4096 })
  const fields = new Fields(json, 'software report', { malformed: code, unknown: code })
  const version = fields.integer('version')
  if (version !== 1) fields.refuse('version', `${version}, expected 1`)
  const claims = {
    measurement: fields.hex('measurement', 48),
    reportData: fields.hexBytes('report_data', 64),
    debug: fields.boolean('debug'),
    tcb: fields.integer('tcb', { min: 0, max: 65_535 }),
  }
  fields.end()
  return claims
}

function decode(text: string, what: string, transcript: Transcript): Bytes {
  const bytes = parseBase64(text)
  return (
    bytes ?? transcript.fail('software/encoding', 'evidence_malformed', `${what} is not base64`)
  )
}
