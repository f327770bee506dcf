/** Decides whether NVIDIA evidence is authentic: a genuine device running NVIDIA's own firmware. */
import { type Bytes, equalBytes, formatHex, parseBase64 } from '../bytes.ts'
import type { AuthenticityContext, NvidiaGpuEvidence } from '../evidence.ts'
import { AttestationError, type Transcript } from '../verdict.ts'
import { parseCertificate, parsePem } from '../x509/certificate.ts'
import { type NvidiaGpuClaims, type NvidiaReportClaims, readReportClaims } from './claims.ts'
import {
  type Device,
  readModel,
  requireFirmwareId,
  requireReportSignature,
  verifyDeviceChain,
} from './device-chain.ts'
import { type DeviceFields, readGpuFields, readSwitchFields } from './device-fields.ts'
import { assignRims, type RimRole, requiredRoles, requireMeasurements } from './match-rims.ts'
import { type ReferenceIds, referenceIds } from './reference-ids.ts'
import { StapledOcsp } from './revocation.ts'
import { type Rim, readRim } from './rim.ts'
import { parseSpdmReport, type SpdmReport } from './spdm-report.ts'
import { verifySignedXml } from './xml-signature.ts'

const maxRims = 4

/** A report whose signature, signer and freshness are verified; its measurements are still to be compared. */
export type NvidiaReport = {
  readonly claims: NvidiaReportClaims
  readonly report: SpdmReport
  readonly device: Device
  readonly fields: DeviceFields
}

/**
 * Verifies everything: report, chain, revocation, and RIMs for all the firmware the device runs.
 * Without an expected nonce the report may be old, and the transcript says that this was not
 * checked.
 */
export async function authenticateNvidiaGpu(
  evidence: NvidiaGpuEvidence,
  expectedNonce: Uint8Array | undefined,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<NvidiaGpuClaims> {
  const authentic = await authenticateNvidiaReport(evidence, expectedNonce, context, transcript)
  const matched = await compareNvidiaRims(authentic, evidence, context, transcript)
  for (const role of requiredRoles(authentic.fields)) {
    const { rimIds } = authentic.claims
    transcript.require(
      matched.has(role),
      `nvidia/rim/${role}`,
      'collateral_missing',
      `RIM ${rimIds[role]} must be there`,
    )
  }
  return authentic.claims as NvidiaGpuClaims
}

/** Verifies who made the report, and when; says nothing about the firmware that the device runs. */
export async function authenticateNvidiaReport(
  evidence: NvidiaGpuEvidence,
  expectedNonce: Uint8Array | undefined,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<NvidiaReport> {
  const report = transcript.attempt('nvidia/report', () =>
    parseSpdmReport(decode(evidence.report, 'report')),
  )
  transcript.pass('nvidia/report', `${report.measurements.size} measurements`)
  requireNonce(report, expectedNonce, transcript)
  const trust = { rootFingerprints: context.roots.nvidiaDevice, at: context.at }
  const device = await verifyDeviceChain(evidence.certificate_chain, trust, transcript)
  await requireReportSignature(report, device, transcript)
  transcript.skip('nvidia/chain/0/revocation', 'made by the device itself, known to no responder')
  const ocsp = readOcsp(evidence, context, transcript)
  await ocsp.requireUnrevoked(device.chain, 1, transcript, 'nvidia/chain')
  const fields = transcript.attempt('nvidia/fields', () => readFields(device, report))
  requireFirmwareId(fields.firmwareId, device, transcript)
  return { claims: readReportClaims(report, device, fields), report, device, fields }
}

/** Which documents to fetch for a report, for a worker that staples RIMs to its own; verifies nothing. */
export function readReferenceIds(evidence: NvidiaGpuEvidence): ReferenceIds {
  const report = parseSpdmReport(decode(evidence.report, 'report'))
  const [, identity] = parsePem(evidence.certificate_chain)
  if (!identity) throw new AttestationError('chain_mismatch', 'no device certificate')
  const device = readModel(parseCertificate(identity))
  return referenceIds(device, readFields(device, report))
}

/** The certificate decides what a device is; a switch that reports like a GPU is still a switch. */
const readFields = (
  { architecture }: Pick<Device, 'architecture'>,
  { opaque }: SpdmReport,
): DeviceFields => (architecture === 'ls10' ? readSwitchFields(opaque) : readGpuFields(opaque))

/** Verifies every RIM in the evidence, compares the report with it, and returns which RIMs there were. */
export async function compareNvidiaRims(
  { report, device, fields }: NvidiaReport,
  evidence: NvidiaGpuEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): Promise<ReadonlySet<RimRole>> {
  if (evidence.rims.length > maxRims) {
    transcript.fail('nvidia/rim', 'collateral_malformed', `${evidence.rims.length} RIMs`)
  }
  const ocsp = readOcsp(evidence, context, transcript)
  const rims: Rim[] = []
  for (const [index, base64] of evidence.rims.entries()) {
    rims.push(await readVerifiedRim(base64, ocsp, context, transcript, `nvidia/rim/${index}`))
  }
  const assigned = assignRims(rims, device, fields, transcript)
  requireMeasurements(report, fields, assigned, transcript)
  return new Set(assigned.keys())
}

async function readVerifiedRim(
  base64: string,
  ocsp: StapledOcsp,
  context: AuthenticityContext,
  transcript: Transcript,
  id: string,
): Promise<Rim> {
  const bytes = transcript.attempt(id, () => decode(base64, 'RIM', 'collateral_malformed'))
  const trust = { rootFingerprints: context.roots.nvidiaRim, at: context.at }
  const signed = await verifySignedXml(bytes, trust, transcript, id)
  await ocsp.requireUnrevoked(signed.chain, 0, transcript, `${id}/chain`)
  return transcript.attempt(id, () => readRim(signed.root))
}

function requireNonce(
  report: SpdmReport,
  expected: Uint8Array | undefined,
  transcript: Transcript,
): void {
  const id = 'nvidia/nonce'
  const seen = formatHex(report.nonce)
  if (expected === undefined) transcript.skip(id, `no nonce was expected, the report has ${seen}`)
  else {
    transcript.require(
      equalBytes(report.nonce, expected),
      id,
      'nonce_mismatch',
      `nonce is ${seen}, expected ${formatHex(expected)}`,
    )
  }
}

const readOcsp = (
  { ocsp }: NvidiaGpuEvidence,
  context: AuthenticityContext,
  transcript: Transcript,
): StapledOcsp => transcript.attempt('nvidia/ocsp', () => new StapledOcsp(ocsp, context))

function decode(
  base64: string,
  what: string,
  code: 'evidence_malformed' | 'collateral_malformed' = 'evidence_malformed',
): Bytes {
  const bytes = parseBase64(base64)
  if (bytes === undefined) throw new AttestationError(code, `${what} is not base64`)
  return bytes
}
