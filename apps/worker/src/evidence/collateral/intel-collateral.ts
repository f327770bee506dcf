/**
 * Intel's collateral for the platform that made a quote, from the Provisioning Certification
 * Service.
 */
import type { TdxCollateral } from '@privatemode/attestation'
import {
  type Dated,
  parseCrl,
  parseIssuerChain,
  parseQeIdentity,
  parseTcbInfo,
  readPckPlatform,
} from '@privatemode/attestation/collateral'
import { parsePem, type TdxQuote } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { CollateralCache } from './collateral-cache.ts'
import { type CollateralItem, dayMs } from './collateral-item.ts'
import { fetchDocument, unavailable, type VendorFetch } from './fetch-document.ts'

export type IntelOptions = {
  readonly cache: CollateralCache
  readonly vendor: VendorFetch
  /** Intel's service (API version 4) or a mirror with its paths, such as a PCCS. */
  readonly pcsUrl: string
  /** URL of the root CRL; a PCCS serves it at `/sgx/certification/v4/rootcacrl`. */
  readonly rootCrlUrl: string
}

/** A document with its signer's chain, as stored. */
type Signed = { readonly text: string; readonly signature: string; readonly chain: string }
type ListWithChain = { readonly crl: string; readonly chain: string }

const documentBytes = 512 * 1024
const crlBytes = 4 * 1024 * 1024

/** Collateral for a quote; missing items are empty, and the client refuses. */
export async function stapleIntel(quote: TdxQuote, options: IntelOptions): Promise<TdxCollateral> {
  const { fmspc, authority } = readPlatform(quote)
  const { cache, pcsUrl } = options
  const get = async <T>(item: CollateralItem): Promise<Partial<T>> => {
    const document = await cache.get(item)
    return document === undefined ? {} : parseKept<T>(document)
  }
  const [tcbInfo, qeIdentity, pckCrl, rootCrl] = await Promise.all([
    get<Signed>(
      signedItem(options, {
        name: `intel tcb info ${fmspc}`,
        url: `${pcsUrl}/tdx/certification/v4/tcb?fmspc=${fmspc}`,
        header: 'TCB-Info-Issuer-Chain',
        member: 'tcbInfo',
        parse: parseTcbInfo,
      }),
    ),
    get<Signed>(
      signedItem(options, {
        name: 'intel qe identity',
        url: `${pcsUrl}/tdx/certification/v4/qe/identity`,
        header: 'SGX-Enclave-Identity-Issuer-Chain',
        member: 'enclaveIdentity',
        parse: parseQeIdentity,
      }),
    ),
    get<ListWithChain>(pckCrlItem(options, authority)),
    cache.get(rootCrlItem(options)),
  ])
  return {
    tcb_info: tcbInfo.text ?? '',
    tcb_info_signature: tcbInfo.signature ?? '',
    tcb_info_issuer_chain: tcbInfo.chain ?? '',
    qe_identity: qeIdentity.text ?? '',
    qe_identity_signature: qeIdentity.signature ?? '',
    qe_identity_issuer_chain: qeIdentity.chain ?? '',
    pck_crl: pckCrl.crl ?? '',
    pck_crl_issuer_chain: pckCrl.chain ?? '',
    root_ca_crl: rootCrl === undefined ? '' : Buffer.from(rootCrl).toString('base64'),
  }
}

/** Identifies the TCB info to fetch, and which of Intel's two CAs certified the platform. */
function readPlatform(quote: TdxQuote) {
  const certificates = parseIssuerChain(quote.certificateChain)
  const pck = certificates.find(({ isCa }) => !isCa)
  if (pck === undefined) throw unavailable('the quote has no platform certificate')
  const issuer = Buffer.from(pck.issuer)
  const authority = certificates.find(({ subject }) => issuer.equals(subject))
  return {
    fmspc: Buffer.from(readPckPlatform(pck).fmspc).toString('hex'),
    authority: authority?.commonName?.includes('Processor') ? 'processor' : 'platform',
  }
}

function signedItem(
  { vendor }: IntelOptions,
  source: {
    readonly name: string
    readonly url: string
    readonly header: string
    readonly member: 'tcbInfo' | 'enclaveIdentity'
    readonly parse: (bytes: Bytes) => Dated
  },
): CollateralItem {
  const { name, url, header, member, parse } = source
  return {
    name,
    refreshAfterMs: dayMs,
    fetch: async () => {
      const { bytes, headers } = await fetchDocument(vendor, { url, maxBytes: documentBytes })
      const signed = splitSigned(new TextDecoder().decode(bytes), member)
      return formatKept({ ...signed, chain: readChain(headers, header) })
    },
    readEnd: (kept) => {
      const { text } = parseKept<Signed>(kept)
      return parse(new TextEncoder().encode(text)).nextUpdate
    },
  }
}

/** The exact text that Intel signed: parsing and serializing it again could change it. */
function splitSigned(answer: string, member: string): Pick<Signed, 'text' | 'signature'> {
  const form = `^\\s*\\{\\s*"${member}"\\s*:\\s*(\\{.*\\})\\s*,\\s*"signature"\\s*:\\s*"([0-9a-fA-F]{128})"\\s*\\}\\s*$`
  const [, text, signature] = new RegExp(form, 's').exec(answer) ?? []
  if (text === undefined || signature === undefined) {
    throw unavailable(`the answer is not ${member} with its signature`)
  }
  return { text, signature }
}

function pckCrlItem({ vendor, pcsUrl }: IntelOptions, authority: string): CollateralItem {
  const url = `${pcsUrl}/sgx/certification/v4/pckcrl?ca=${authority}&encoding=der`
  return {
    name: `intel pck crl ${authority}`,
    refreshAfterMs: dayMs,
    fetch: async () => {
      const { bytes, headers } = await fetchDocument(vendor, { url, maxBytes: crlBytes })
      const crl = Buffer.from(decodeList(bytes)).toString('base64')
      return formatKept({ crl, chain: readChain(headers, 'SGX-PCK-CRL-Issuer-Chain') })
    },
    readEnd: (kept) =>
      readListEnd(new Uint8Array(Buffer.from(parseKept<ListWithChain>(kept).crl, 'base64'))),
  }
}

function rootCrlItem({ vendor, rootCrlUrl }: IntelOptions): CollateralItem {
  return {
    name: 'intel root crl',
    refreshAfterMs: dayMs,
    fetch: async () => {
      const { bytes } = await fetchDocument(vendor, { url: rootCrlUrl, maxBytes: crlBytes })
      return decodeList(bytes)
    },
    readEnd: readListEnd,
  }
}

const readListEnd = (der: Bytes): Date => parseCrl(der).nextUpdate ?? new Date(0)

/** Intel's caching service (PCCS) returns lists as hex. */
function decodeList(bytes: Bytes): Bytes {
  if (bytes[0] === 0x30 && bytes[1] !== undefined && bytes[1] >= 0x80) return bytes
  const text = new TextDecoder().decode(bytes).trim()
  return /^([0-9a-fA-F]{2})+$/.test(text) ? new Uint8Array(Buffer.from(text, 'hex')) : bytes
}

function readChain(headers: Headers, name: string): string {
  const pem = decodeURIComponent(headers.get(name) ?? '')
  parsePem(pem) // throws unless it is a chain
  return pem
}

const formatKept = (kept: Signed | ListWithChain): Bytes =>
  new TextEncoder().encode(JSON.stringify(kept))
const parseKept = <T>(kept: Bytes): T => JSON.parse(new TextDecoder().decode(kept)) as T
