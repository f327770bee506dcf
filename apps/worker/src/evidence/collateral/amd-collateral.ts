/** AMD's collateral for the chip that made a report, from the host's table or AMD's service. */
import type { SnpEvidence, SnpReport } from '@privatemode/attestation'
import {
  componentsOf,
  type Endorsement,
  parseCrl,
  parseEndorsement,
  parseTcb,
  productOfCpu,
  type SnpProduct,
  type TcbComponent,
} from '@privatemode/attestation/collateral'
import { parseCertificate, parsePem } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import type { Log } from '@privatemode/service'
import type { CertificateTable } from './certificate-table.ts'
import type { CollateralCache } from './collateral-cache.ts'
import { type CollateralItem, dayMs } from './collateral-item.ts'
import { fetchDocument, unavailable, type VendorFetch } from './fetch-document.ts'

export type AmdOptions = {
  readonly cache: CollateralCache
  readonly vendor: VendorFetch
  readonly log: Log
  /** AMD's Key Distribution Service (document 57230), or a mirror of it. */
  readonly kdsUrl: string
  /** For version 2 reports, which do not name the processor. */
  readonly product: SnpProduct | undefined
}

type Stapled = Pick<SnpEvidence, 'certificates' | 'crls'>

const certificateBytes = 32 * 1024
const crlBytes = 4 * 1024 * 1024
// Query parameter names by TCB component (AMD document 57230).
const parameters: Readonly<Record<TcbComponent, string>> = {
  fmc: 'fmcSPL',
  bootloader: 'blSPL',
  tee: 'teeSPL',
  snp: 'snpSPL',
  microcode: 'ucodeSPL',
}

/**
 * Certificates and revocation list for a report; missing items are left out, and the client
 * refuses.
 */
export async function stapleAmd(
  report: SnpReport,
  table: CertificateTable,
  options: AmdOptions,
): Promise<Stapled> {
  const product = chooseProduct(report, table, options)
  if (product === undefined) {
    options.log.warn('failed to fetch collateral', {
      part: 'amd product',
      detail: 'the report names no known processor; if it names none at all, set --amdProduct',
    })
    return { certificates: [], crls: [] }
  }
  const [leaf, authorities, crl] = await Promise.all([
    findLeaf(report, product, table, options),
    findAuthorities(report, product, table, options),
    options.cache.get(crlItem(report, product, options)),
  ])
  const list = crl ?? table.crl
  const certificates = leaf === undefined ? authorities : [leaf, ...authorities]
  return {
    certificates: certificates.map(base64),
    crls: list === undefined ? [] : [base64(list)],
  }
}

function chooseProduct(
  { cpu, signer }: SnpReport,
  table: CertificateTable,
  options: AmdOptions,
): SnpProduct | undefined {
  if (cpu !== undefined) return productOfCpu(cpu.family, cpu.model)
  return readEndorsement(table[signer])?.product ?? options.product
}

async function findLeaf(
  report: SnpReport,
  product: SnpProduct,
  table: CertificateTable,
  { cache, vendor, kdsUrl, log }: AmdOptions,
): Promise<Bytes | undefined> {
  const given = table[report.signer]
  // A host may still serve a certificate loaded before an update gave the chip a new key.
  if (given !== undefined && isOfTcb(given, report, product)) return given
  if (report.signer === 'vlek') {
    const detail = 'AMD issues it to the provider only, and the host has none for this TCB'
    log.warn('failed to fetch collateral', { part: 'amd vlek', detail })
    return given
  }
  return await cache.get(vcekItem(report, product, vendor, kdsUrl))
}

async function findAuthorities(
  { signer }: SnpReport,
  product: SnpProduct,
  { ask, ark }: CertificateTable,
  { cache, vendor, kdsUrl }: AmdOptions,
): Promise<Bytes[]> {
  if (ask !== undefined && ark !== undefined) return [ask, ark]
  const chain = await cache.get({
    name: `amd cert_chain ${signer} ${product}`,
    refreshAfterMs: undefined,
    fetch: async () => {
      const url = `${kdsUrl}/${signer}/v1/${product}/cert_chain`
      return (await fetchDocument(vendor, { url, maxBytes: certificateBytes })).bytes
    },
    readEnd: (pem) => firstEnd(readPem(pem)),
  })
  return chain === undefined ? [] : readPem(chain)
}

function vcekItem(
  report: SnpReport,
  product: SnpProduct,
  vendor: VendorFetch,
  kdsUrl: string,
): CollateralItem {
  const tcb = parseTcb(report.reportedTcb, product)
  const query = componentsOf(product).map((name) => `${parameters[name]}=${tcb[name] ?? 0}`)
  // Turin identifies a chip by 8 bytes; the rest of the field is zero.
  const chip = Buffer.from(report.chipId.subarray(0, product === 'Turin' ? 8 : 64)).toString('hex')
  return {
    name: `amd vcek ${product} ${chip} ${query.join(' ')}`,
    refreshAfterMs: undefined,
    fetch: async () => {
      const url = `${kdsUrl}/vcek/v1/${product}/${chip}?${query.join('&')}`
      return (await fetchDocument(vendor, { url, maxBytes: certificateBytes })).bytes
    },
    readEnd: (der) => firstEnd([der]),
  }
}

function crlItem(
  { signer }: SnpReport,
  product: SnpProduct,
  { vendor, kdsUrl }: AmdOptions,
): CollateralItem {
  return {
    name: `amd crl ${signer} ${product}`,
    refreshAfterMs: dayMs,
    fetch: async () => {
      const url = `${kdsUrl}/${signer}/v1/${product}/crl`
      return (await fetchDocument(vendor, { url, maxBytes: crlBytes })).bytes
    },
    readEnd: (der) => parseCrl(der).nextUpdate ?? new Date(0),
  }
}

function isOfTcb(der: Bytes, report: SnpReport, product: SnpProduct): boolean {
  const endorsement = readEndorsement(der)
  if (endorsement?.product !== product) return false
  const reported = parseTcb(report.reportedTcb, product)
  return componentsOf(product).every((name) => endorsement.tcb[name] === reported[name])
}

function readEndorsement(der: Bytes | undefined): Endorsement | undefined {
  try {
    return der === undefined ? undefined : parseEndorsement(parseCertificate(der))
  } catch {
    return undefined // not a certificate; ask the vendor instead
  }
}

function firstEnd(certificates: readonly Bytes[]): Date {
  const ends = certificates.map((der) => parseCertificate(der).notAfter.getTime())
  if (ends.length === 0) throw unavailable('no certificate')
  return new Date(Math.min(...ends))
}

const readPem = (pem: Bytes): Bytes[] => parsePem(new TextDecoder().decode(pem))
const base64 = (bytes: Bytes): string => Buffer.from(bytes).toString('base64')
