/** NVIDIA devices: orders the device's chain and passes on RIMs and OCSP responses. */
import {
  appraiseDevices,
  appraiseNvidiaGpu,
  authenticateNvidiaGpu,
  authenticateNvidiaReport,
  compareNvidiaRims,
  type NvidiaDeviceRule,
  type NvidiaGpuClaims,
  type NvidiaGpuEvidence,
  type NvidiaReportClaims,
  nvidiaGpuVerifier,
  Transcript,
} from '@privatemode/attestation'
import { type Certificate, parseSpdmReport } from '@privatemode/attestation/inspect'
import { type Bytes, bytesOf } from '../files/piece.ts'
import { appraiseByRules, workerRules } from './appraise-by-rules.ts'
import { type Inputs, sameBytes, toBase64, tryCertificate } from './inputs.ts'
import type { Verifier } from './verifier.ts'

/** With a manifest, the reports in a file belong to one machine and are appraised together. */
export const nvidiaVerifier: Verifier<NvidiaGpuEvidence, NvidiaReportClaims> = {
  findReports: ({ report }) => bytesOf(report, 'nvidia-report'),
  assemble,
  authenticate: async (evidence, inputs, transcript) => {
    const claims = await authenticate(evidence, inputs, transcript)
    requireStatedNonce(claims.nonce, inputs, transcript)
    return claims
  },
  requireAlways: (claims, transcript) => {
    if (claims.mode !== 'protected-pcie') return
    transcript.skip('nvidia/topology', 'GPUs and switches are compared where a manifest is given')
  },
  // One rule must accept all devices of a machine, in the number that it states.
  requireTogether: (claims, inputs, transcript) => {
    const devices = claims.map((each) => ({ kind: 'nvidia-gpu', claims: strict(each) }) as const)
    appraiseByRules('nvidia-gpu', deviceRules(inputs), transcript, (nvidiaGpu, attempt) =>
      appraiseDevices(devices, { nvidiaGpu }, nvidiaGpuVerifier, attempt),
    )
  },
  inspect,
  appraise: (claims, inputs, transcript) => {
    appraiseByRules('nvidia-gpu', deviceRules(inputs), transcript, ({ rule }, attempt) =>
      appraiseNvidiaGpu(strict(claims), rule, attempt),
    )
  },
}

/** With a manifest, `authenticate` uses strict verification, which produces these claims. */
const strict = (claims: NvidiaReportClaims) => claims as NvidiaGpuClaims

const deviceRules = (inputs: Inputs): NvidiaDeviceRule[] =>
  workerRules(inputs).flatMap((one) => {
    const devices = 'devices' in one ? one.devices.nvidiaGpu : undefined
    return devices === undefined || devices === 'unread' ? [] : [devices]
  })

/**
 * A worker must staple the RIMs of everything its device runs, and so must evidence appraised by a
 * manifest. On its own, a report may come with some or none of them: those present must match, and
 * missing ones are named and never counted as a pass.
 */
async function authenticate(
  evidence: NvidiaGpuEvidence,
  inputs: Inputs,
  transcript: Transcript,
): Promise<NvidiaReportClaims> {
  const { nonce, context } = inputs
  if (inputs.manifest !== undefined) {
    return authenticateNvidiaGpu(evidence, nonce, context, transcript)
  }
  const report = await authenticateNvidiaReport(evidence, nonce, context, transcript)
  const matched = await compareNvidiaRims(report, evidence, context, transcript)
  for (const [role, id] of Object.entries(report.claims.rimIds)) {
    if (matched.has(role as keyof typeof report.claims.rimIds) || id === undefined) continue
    transcript.skip(
      `nvidia/rim/${role}`,
      `RIM ${id} was not given: its measurements are not compared`,
    )
  }
  return report.claims
}

/** JSON may contain a nonce next to the report. It must be the report's, and proves no freshness. */
function requireStatedNonce(seen: string, { report }: Inputs, transcript: Transcript): void {
  const stated = report.flatMap((piece) => (piece.kind === 'nonce' ? [piece.hex] : []))
  if (stated.length === 0) return
  transcript.require(
    stated.includes(seen),
    'nvidia/stated-nonce',
    'nonce_mismatch',
    `nonce is ${seen}, but the JSON states ${stated.join(', ')}`,
  )
}

/** One variant for each certificate that could be the device's. */
function assemble(report: Bytes, inputs: Inputs): NvidiaGpuEvidence[] {
  const files = bytesOf(inputs.all, 'certificate')
  const certificates = files.flatMap((bytes) => tryCertificate(bytes) ?? [])
  const broken = files.filter((bytes) => tryCertificate(bytes) === undefined)
  const leaves = certificates.filter((candidate) => !isIssuer(candidate, certificates))
  const chains = (leaves.length > 0 ? leaves : certificates.slice(0, 1)).map((leaf) =>
    chainOf(leaf, certificates),
  )
  return rotate(chains.length > 0 ? chains : [[]], placeOf(report, inputs)).map((chain) => ({
    kind: 'nvidia-gpu',
    report: toBase64(report),
    certificate_chain: [...broken, ...chain.map(({ der }) => der)].map(formatPem).join(''),
    rims: bytesOf(inputs.all, 'rim').map(toBase64),
    ocsp: bytesOf(inputs.all, 'ocsp').map(toBase64),
  }))
}

/** Files list each report next to its chain: the chain at the same position is tried first. */
const placeOf = (report: Bytes, inputs: Inputs): number =>
  Math.max(
    0,
    bytesOf(inputs.report, 'nvidia-report').findIndex((one) => sameBytes(one, report)),
  )

function rotate<T>(items: readonly T[], by: number): T[] {
  const first = by % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

const isIssuer = (candidate: Certificate, among: readonly Certificate[]): boolean =>
  among.some((other) => other !== candidate && sameBytes(other.issuer, candidate.subject))

function chainOf(leaf: Certificate, among: readonly Certificate[]): Certificate[] {
  const chain = [leaf]
  for (let current = leaf; chain.length < 16; ) {
    const issuer = among.find(
      (candidate) => sameBytes(candidate.subject, current.issuer) && !chain.includes(candidate),
    )
    if (issuer === undefined) break
    chain.push(issuer)
    current = issuer
  }
  return chain
}

function formatPem(der: Uint8Array): string {
  const body = toBase64(der).replace(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`
}

/** All the report's claims if the device's own signature is valid; otherwise the bare report. */
async function inspect(evidence: NvidiaGpuEvidence, { context }: Inputs): Promise<unknown> {
  const lenient = { ...context, revocation: { allowUnknown: true, revokedGraceHours: 1e6 } }
  try {
    const report = await authenticateNvidiaReport(evidence, undefined, lenient, new Transcript())
    return report.claims
  } catch {
    return inspectReport(evidence)
  }
}

function inspectReport(evidence: NvidiaGpuEvidence): unknown {
  try {
    const bytes = new Uint8Array(Buffer.from(evidence.report, 'base64'))
    const { nonce, measurements } = parseSpdmReport(bytes)
    return { kind: 'nvidia-gpu', nonce, measurements: Object.fromEntries(measurements) }
  } catch {
    return {}
  }
}
