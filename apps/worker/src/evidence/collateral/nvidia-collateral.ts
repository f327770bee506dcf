/** NVIDIA's collateral for a GPU: reference measurements, and the status of its certificates. */
import { createHash } from 'node:crypto'
import {
  type Certificate,
  type NvidiaGpuEvidence,
  readReferenceIds,
} from '@privatemode/attestation'
import {
  formatOcspRequest,
  parseOcspResponse,
  readSignerChain,
} from '@privatemode/attestation/collateral'
import { parseCertificate, parsePem } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { GpuReport } from '../gpu/parse-gpu-output.ts'
import type { CollateralCache } from './collateral-cache.ts'
import { type CollateralItem, dayMs, hourMs } from './collateral-item.ts'
import { fetchDocument, unavailable, type VendorFetch } from './fetch-document.ts'

export type NvidiaOptions = {
  readonly cache: CollateralCache
  readonly vendor: VendorFetch
  /** NVIDIA's RIM service or a mirror, with documents at `/v1/rim/{id}`. */
  readonly rimUrl: string
  readonly ocspUrl: string
}

const rimAnswerBytes = 4 * 1024 * 1024
const ocspAnswerBytes = 64 * 1024
const ocspRequestType = 'application/ocsp-request'
const ocspResponseType = 'application/ocsp-response'

/** Evidence of one GPU with all available collateral; the client refuses incomplete evidence. */
export async function stapleNvidia(
  { report, certificateChain }: GpuReport,
  options: NvidiaOptions,
): Promise<NvidiaGpuEvidence> {
  const bare: NvidiaGpuEvidence = {
    kind: 'nvidia-gpu',
    report: base64(report),
    certificate_chain: certificateChain,
    rims: [],
    ocsp: [],
  }
  const { driver, vbios } = readReferenceIds(bare)
  const ids = driver === undefined ? [vbios] : [driver, vbios]
  const device = parsePem(certificateChain).map(parseCertificate)
  // The device itself issued the leaf: no responder knows it.
  const [deviceAnswers, rims] = await Promise.all([
    getAnswers(device.slice(1), options),
    Promise.all(ids.map((id) => options.cache.get(rimItem(id, options)))),
  ])
  const found = rims.filter((rim) => rim !== undefined)
  const signers = await Promise.all(found.map((rim) => getAnswers(readSignerChain(rim), options)))
  const answers = [deviceAnswers, ...signers].flat().map(base64)
  return { ...bare, rims: found.map(base64), ocsp: [...new Set(answers)] }
}

/** OCSP responses for every certificate of a chain except the root, which is pinned. */
async function getAnswers(chain: readonly Certificate[], options: NvidiaOptions): Promise<Bytes[]> {
  const pairs = chain.flatMap((certificate, index) => {
    const issuer = chain[index + 1]
    return issuer === undefined ? [] : [{ certificate, issuer }]
  })
  const answers = await Promise.all(
    pairs.map(({ certificate, issuer }) =>
      options.cache.get(ocspItem(certificate, issuer, options)),
    ),
  )
  return answers.filter((answer) => answer !== undefined)
}

function rimItem(id: string, { vendor, rimUrl }: NvidiaOptions): CollateralItem {
  return {
    name: `nvidia rim ${id}`,
    refreshAfterMs: dayMs,
    fetch: async () => {
      const url = `${rimUrl}/v1/rim/${encodeURIComponent(id)}`
      const { bytes } = await fetchDocument(vendor, { url, maxBytes: rimAnswerBytes })
      return readRimAnswer(bytes, id)
    },
    // The client decides whether the signer's certificate is still valid: an expired document is
    // presented as expired, not as missing.
    readEnd: (rim) => {
      readSignerChain(rim)
      return undefined
    },
  }
}

function readRimAnswer(bytes: Bytes, id: string): Bytes {
  const answer: unknown = JSON.parse(new TextDecoder().decode(bytes))
  const { id: named, rim } = (answer ?? {}) as { id?: unknown; rim?: unknown }
  if (named !== id || typeof rim !== 'string') {
    throw unavailable(`the answer is not the RIM ${id}`)
  }
  return new Uint8Array(Buffer.from(rim, 'base64'))
}

function ocspItem(
  certificate: Certificate,
  issuer: Certificate,
  { vendor, ocspUrl }: NvidiaOptions,
): CollateralItem {
  const { serialHex } = certificate
  const authority = createHash('sha256').update(issuer.spki).digest('hex')
  return {
    name: `nvidia ocsp ${authority} ${serialHex}`,
    refreshAfterMs: hourMs,
    fetch: async () => {
      const request = await formatOcspRequest(certificate, issuer)
      const body = { bytes: request, type: ocspRequestType, accept: ocspResponseType }
      const answer = { url: ocspUrl, maxBytes: ocspAnswerBytes, body }
      return (await fetchDocument(vendor, answer)).bytes
    },
    readEnd: (der, fetchedAt) => readAnswerEnd(der, serialHex, fetchedAt),
  }
}

function readAnswerEnd(der: Bytes, serialHex: string, fetchedAt: Date): Date {
  const response = parseOcspResponse(der)
  if (response.kind === 'error') throw unavailable(`the responder answered ${response.status}`)
  const about = response.answers.filter(({ certId }) => certId.serialHex === serialHex)
  if (about.length === 0) throw unavailable('the answer is about another certificate')
  // Without nextUpdate, newer information is always available (RFC 6960, 4.2.2.1). Keep it for an
  // hour.
  const ends = about.map(({ nextUpdate }) => nextUpdate?.getTime() ?? fetchedAt.getTime() + hourMs)
  return new Date(Math.min(...ends))
}

const base64 = (bytes: Bytes): string => Buffer.from(bytes).toString('base64')
