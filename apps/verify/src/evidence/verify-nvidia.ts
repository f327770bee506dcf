/** NVIDIA devices: orders the device's chain and hands over RIMs and OCSP answers. */
import {
  appraiseNvidiaGpu,
  authenticateNvidiaGpu,
  authenticateNvidiaReport,
  type NvidiaGpuClaims,
  type NvidiaGpuEvidence,
  Transcript,
} from '@privatemode/attestation'
import { type Certificate, parseSpdmReport } from '@privatemode/attestation/inspect'
import { type Bytes, bytesOf } from '../files/piece.ts'
import { appraiseByRules, workerRules } from './appraise-by-rules.ts'
import { type Inputs, sameBytes, toBase64, tryCertificate } from './inputs.ts'
import type { Verifier } from './verifier.ts'

export const nvidiaVerifier: Verifier<NvidiaGpuEvidence, NvidiaGpuClaims> = {
  findReports: ({ report }) => bytesOf(report, 'nvidia-report'),
  assemble,
  authenticate: (evidence, inputs, transcript) =>
    authenticateNvidiaGpu(evidence, expectedNonce(evidence, inputs), inputs.context, transcript),
  requireAlways: () => {},
  inspect,
  appraise: (claims, inputs, transcript) => {
    const rules = workerRules(inputs).flatMap((one) =>
      one.kind === 'software' ? [] : (one.devices.nvidiaGpu?.rule ?? []),
    )
    appraiseByRules('nvidia-gpu', rules, transcript, (rule, attempt) =>
      appraiseNvidiaGpu(claims, rule, attempt),
    )
  },
}

/** What the caller names; else the nonce that stands beside the report, which proves no freshness. */
function expectedNonce(evidence: NvidiaGpuEvidence, inputs: Inputs): Bytes | undefined {
  if (inputs.nonce !== undefined) return inputs.nonce
  const beside = inputs.report.flatMap((piece) =>
    piece.kind === 'nonce' ? [new Uint8Array(Buffer.from(piece.hex, 'hex'))] : [],
  )
  const own = Buffer.from(evidence.report, 'base64').subarray(4, 36)
  return beside.find((nonce) => sameBytes(nonce, own)) ?? beside[0]
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
  return (chains.length > 0 ? chains : [[]]).map((chain) => ({
    kind: 'nvidia-gpu',
    report: toBase64(report),
    certificate_chain: [...broken, ...chain.map(({ der }) => der)].map(formatPem).join(''),
    rims: bytesOf(inputs.all, 'rim').map(toBase64),
    ocsp: bytesOf(inputs.all, 'ocsp').map(toBase64),
  }))
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

/** All the report says, where the device's own signature holds; the bare report otherwise. */
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
