/** Evidence from the real SEV-SNP vectors, each assembled with the authorities and a list. */
import { type Bytes, concatBytes, formatBase64, parseBase64, parseHex } from '../bytes.ts'
import type { SnpEvidence } from '../evidence.ts'
import { parsePem } from '../x509/certificate.ts'
import { readVector, readVectorText } from './vectors.ts'

export const snpFile = (path: string): Bytes => readVector(`snp/${path}`)
export const snpPem = (path: string): Bytes[] => parsePem(text(path))
export const amdCrl = (product: 'milan' | 'genoa'): Bytes =>
  snpFile(`openpcc-azure-genoa/${product}.crl.der`)

const text = (path: string): string => readVectorText(`snp/${path}`)
const authorities = (product: 'milan' | 'genoa') => snpPem(`amd-roots/ask_ark_${product}.pem`)

export const realEvidence = {
  google: () =>
    milan(snpFile('google-milan-vcek/report.bin'), snpFile('google-milan-vcek/vcek.der')),
  virtee: () => {
    const hex = text('virtee-milan/report.hex').replace(/\s/g, '').toLowerCase()
    return milan(parseHex(hex)!, snpFile('virtee-milan/vcek.der'))
  },
  cocoMilan: (vcek = 'test-vcek.der') =>
    milan(snpFile('coco-milan/test-report.bin'), snpFile(`coco-milan/${vcek}`)),
  microsoft: () =>
    evidenceOf(
      snpFile('microsoft-aci/snp_report.bin'),
      snpPem('microsoft-aci/uvm_host_amd_certificate.pem'),
      [amdCrl('milan')],
    ),
  /** The report is embedded in a blob of Azure's paravisor. */
  cocoAzure: () => {
    const { report } = JSON.parse(text('coco-azure-genoa/evidence-genoa.json'))
    const blob = Uint8Array.from(Array.isArray(report) ? report : Buffer.from(report, 'base64url'))
    return genoa(blob.slice(0x20, 0x4c0), snpPem('coco-azure-genoa/vcek-genoa.pem')[0]!)
  },
  /** With the certificates and lists of two products. */
  openpcc: () => {
    const file = text('openpcc-azure-genoa/azure_sevsnp_report.txt')
    const [, body = ''] = /-----BEGIN REPORT-----([^-]*)-----END/.exec(file)!
    const blob = parseBase64(body.replace(/\s/g, ''))!
    const certificates = snpPem('openpcc-azure-genoa/sev_certificates.txt')
    return evidenceOf(blob.slice(0x20, 0x4c0), certificates, [amdCrl('milan'), amdCrl('genoa')])
  },
  cocoSiena: () => {
    const { attestation_report, cert_chain } = JSON.parse(text('coco-e2e/evidence.json'))
    return genoa(formatCocoReport(attestation_report), Uint8Array.from(cert_chain[0].data))
  },
  dstack: (crls: Bytes[]) =>
    evidenceOf(
      snpFile('dstack/sev_snp_attestation.bin').slice(4, 4 + 1184),
      [
        ...snpPem('dstack/sev_snp_vcek.pem'),
        ...snpPem('dstack/sev_snp_ask.pem'),
        authorities('milan')[1]!,
      ],
      crls,
    ),
}

const milan = (report: Bytes, vcek: Bytes): SnpEvidence =>
  evidenceOf(report, [vcek, ...authorities('milan')], [amdCrl('milan')])
const genoa = (report: Bytes, vcek: Bytes): SnpEvidence =>
  evidenceOf(report, [vcek, ...authorities('genoa')], [amdCrl('genoa')])

const evidenceOf = (report: Bytes, certificates: Bytes[], crls: Bytes[]): SnpEvidence => ({
  kind: 'snp',
  report: formatBase64(report),
  certificates: certificates.map(formatBase64),
  crls: crls.map(formatBase64),
})

type CocoTcb = { bootloader: number; tee: number; snp: number; microcode: number }
type CocoVersion = { build: number; minor: number; major: number }
type CocoReport = Record<
  | 'family_id'
  | 'image_id'
  | 'report_data'
  | 'measurement'
  | 'host_data'
  | 'id_key_digest'
  | 'author_key_digest'
  | 'report_id'
  | 'report_id_ma'
  | 'chip_id',
  number[]
> &
  Record<'version' | 'guest_svn' | 'policy' | 'vmpl' | 'sig_algo' | 'plat_info', number> &
  Record<'key_info' | 'cpuid_fam_id' | 'cpuid_mod_id' | 'cpuid_step', number> &
  Record<'current_tcb' | 'reported_tcb' | 'committed_tcb' | 'launch_tcb', CocoTcb> &
  Record<'current' | 'committed', CocoVersion> & { signature: { r: number[]; s: number[] } }

/** The bytes of a report that was published as a JSON form of its fields. */
function formatCocoReport(report: CocoReport): Bytes {
  const u32 = (value: number) => new Uint8Array(Uint32Array.of(value).buffer)
  const u64 = (value: number) => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer)
  const tcb = ({ bootloader, tee, snp, microcode }: CocoTcb) => [
    bootloader,
    tee,
    0,
    0,
    0,
    0,
    snp,
    microcode,
  ]
  const version = ({ build, minor, major }: CocoVersion) => [build, minor, major, 0]
  const zeros = (count: number) => new Uint8Array(count)
  const parts = [
    [...u32(report.version), ...u32(report.guest_svn), ...u64(report.policy)],
    [report.family_id, report.image_id, [...u32(report.vmpl), ...u32(report.sig_algo)]].flat(),
    [...tcb(report.current_tcb), ...u64(report.plat_info), ...u32(report.key_info), ...u32(0)],
    [report.report_data, report.measurement, report.host_data, report.id_key_digest].flat(),
    [report.author_key_digest, report.report_id, report.report_id_ma].flat(),
    [...tcb(report.reported_tcb), report.cpuid_fam_id, report.cpuid_mod_id, report.cpuid_step],
    [...zeros(21), ...report.chip_id, ...tcb(report.committed_tcb)],
    [...version(report.current), ...version(report.committed), ...tcb(report.launch_tcb)],
    [...zeros(168), ...report.signature.r, ...report.signature.s, ...zeros(368)],
  ]
  return concatBytes(...parts.map((part) => Uint8Array.from(part)))
}
