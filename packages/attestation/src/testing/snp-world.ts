/** A vendor of SEV-SNP machines for tests: its own root, the same formats, so the same code verifies it. */
import { type Bytes, concatBytes, formatBase64 } from '../bytes.ts'
import { ia5String, integer, octetString } from '../der/der-writer.ts'
import type { AuthenticityContext, SnpEvidence } from '../evidence.ts'
import type { SnpProduct, TcbComponent } from '../snp/product.ts'
import type { SnpSigner } from '../snp/report.ts'
import { fingerprint } from '../x509/certificate.ts'
import {
  issueCertificate,
  issueCrl,
  issueRoot,
  keyUsageBits,
  type TestExtension,
  type TestSubject,
  testNow,
} from './test-authority.ts'
import { makeKey } from './test-key.ts'

export type TcbBytes = Partial<Record<TcbComponent, number>>

export type ReportRequest = {
  readonly version?: number
  readonly family?: number
  readonly model?: number
  readonly tcb?: Bytes
  readonly chipId?: Uint8Array
  readonly keyInfo?: number
  /** Written last, before signing. */
  readonly patches?: readonly { readonly at: number; readonly bytes: Uint8Array }[]
}

export type EndorsementRequest = {
  readonly productName?: string
  readonly tcb?: TcbBytes
  /** Written unmodified; null omits the extension. */
  readonly hwid?: Uint8Array | null
  readonly cspId?: string | null
}

export type SnpWorld = {
  readonly product: SnpProduct
  readonly signer: SnpSigner
  readonly ark: TestSubject
  readonly ask: TestSubject
  readonly leaf: TestSubject
  readonly context: AuthenticityContext
  /** Root, intermediate. */
  readonly authorities: { readonly arkDer: Bytes; readonly askDer: Bytes }
  readonly crl: Bytes
  issueLeaf(request?: EndorsementRequest): Promise<Bytes>
  signReport(request?: ReportRequest): Promise<Bytes>
  /** Complete evidence, valid unless the requests say otherwise. */
  attest(report?: ReportRequest, endorsement?: EndorsementRequest): Promise<SnpEvidence>
}

const arc = '1.3.6.1.4.1.3704.1'
const componentOids = {
  bootloader: '3.1',
  tee: '3.2',
  snp: '3.3',
  microcode: '3.8',
  fmc: '3.9',
} as const
const cpus = {
  Milan: { family: 0x19, model: 0x01 },
  Genoa: { family: 0x19, model: 0x11 },
  Turin: { family: 0x1a, model: 0x02 },
} as const
export const testMeasurement = new Uint8Array(48).fill(0xab)
export const testReportData = Uint8Array.from({ length: 64 }, (_, index) => index)
export const testCspId = 'cloud.example'

/** The TCB on which a test world's reports and certificates agree. */
export const testTcb: Readonly<Record<SnpProduct, TcbBytes>> = {
  Milan: { bootloader: 4, tee: 1, snp: 23, microcode: 213 },
  Genoa: { bootloader: 10, tee: 1, snp: 23, microcode: 84 },
  Turin: { fmc: 1, bootloader: 2, tee: 3, snp: 4, microcode: 80 },
}

export function packTcb(product: SnpProduct, tcb: TcbBytes): Bytes {
  const { fmc = 0, bootloader = 0, tee = 0, snp = 0, microcode = 0 } = tcb
  return product === 'Turin'
    ? Uint8Array.of(fmc, bootloader, tee, snp, 0, 0, 0, microcode)
    : Uint8Array.of(bootloader, tee, 0, 0, 0, 0, snp, microcode)
}

export async function snpWorld(
  product: SnpProduct = 'Genoa',
  signer: SnpSigner = 'vcek',
): Promise<SnpWorld> {
  const ark = { name: `ARK-${product}`, key: await makeKey('rsa-pss') }
  const askName = signer === 'vlek' ? `SEV-VLEK-${product}` : `SEV-${product}`
  const ask = { name: askName, key: await makeKey('rsa-pss') }
  const leaf = { name: `SEV-${signer.toUpperCase()}`, key: await makeKey('p384') }
  const arkDer = await issueRoot(ark)
  const askDer = await issueCertificate({
    subject: ask,
    issuer: ark,
    serial: 0x010001,
    ca: { pathLength: 0 },
    keyUsage: keyUsageBits.keyCertSign,
  })
  const crl = await issueCrl({ issuer: ark })
  const hwid = Uint8Array.from({ length: product === 'Turin' ? 8 : 64 }, (_, index) => 255 - index)

  const issueLeaf = (request: EndorsementRequest = {}) => {
    const holder = signer === 'vlek' ? { hwid: null, cspId: testCspId } : { hwid, cspId: null }
    const extensions = endorsementExtensions({
      productName: product === 'Milan' ? 'Milan-B0' : product,
      tcb: testTcb[product],
      ...holder,
      ...request,
    })
    return issueCertificate({ subject: leaf, issuer: ask, serial: 0, extensions })
  }
  const signReport = async (request: ReportRequest = {}): Promise<Bytes> => {
    const report = formatReport({
      ...cpus[product],
      tcb: packTcb(product, testTcb[product]),
      chipId: signer === 'vlek' ? new Uint8Array(64) : hwid,
      keyInfo: signer === 'vlek' ? 1 << 2 : 0,
      ...request,
    })
    const raw = await leaf.key.signRaw(report.subarray(0, 0x2a0))
    report.set(raw.slice(0, 48).reverse(), 0x2a0)
    report.set(raw.slice(48).reverse(), 0x2a0 + 72)
    return report
  }
  return {
    product,
    signer,
    ark,
    ask,
    leaf,
    authorities: { arkDer, askDer },
    crl,
    context: {
      roots: {
        amd: [await fingerprint(arkDer)],
        intel: [],
        nvidiaDevice: [],
        nvidiaRim: [],
        software: [],
      },
      revocation: { allowUnknown: false, revokedGraceHours: 0 },
      at: testNow,
    },
    issueLeaf,
    signReport,
    attest: async (report, endorsement) => ({
      kind: 'snp',
      report: formatBase64(await signReport(report)),
      certificates: [await issueLeaf(endorsement), askDer, arkDer].map(formatBase64),
      crls: [formatBase64(crl)],
    }),
  }
}

function formatReport(
  request: Required<Omit<ReportRequest, 'version' | 'patches'>> & ReportRequest,
): Bytes {
  const { version = 3, family, model, tcb, chipId, keyInfo, patches = [] } = request
  const report = new Uint8Array(1184)
  const view = new DataView(report.buffer)
  view.setUint32(0x00, version, true)
  view.setBigUint64(0x08, 0x3001fn, true)
  view.setUint32(0x34, 1, true)
  view.setBigUint64(0x40, 0x25n, true)
  view.setUint32(0x48, keyInfo, true)
  report.set(testReportData, 0x50)
  report.set(testMeasurement, 0x90)
  for (const offset of [0x38, 0x180, 0x1e0, 0x1f0]) report.set(tcb, offset)
  if (version >= 3) report.set([family, model, 1], 0x188)
  report.set(chipId, 0x1a0)
  report.set([40, 55, 1], 0x1e8)
  report.set([40, 55, 1], 0x1ec)
  for (const { at, bytes } of patches) report.set(bytes, at)
  return report
}

function endorsementExtensions(request: Required<EndorsementRequest>): TestExtension[] {
  const extensions = [
    { oid: `${arc}.1`, value: integer(0) },
    { oid: `${arc}.2`, value: ia5String(request.productName) },
  ]
  for (const [component, value] of Object.entries(request.tcb)) {
    const suffix = componentOids[component as TcbComponent]
    extensions.push({ oid: `${arc}.${suffix}`, value: integer(value) })
  }
  if (request.hwid) extensions.push({ oid: `${arc}.4`, value: concatBytes(request.hwid) })
  if (request.cspId) extensions.push({ oid: `${arc}.5`, value: ia5String(request.cspId) })
  return extensions
}

/** The chip id in the wrapped form that some certificates use. */
export const wrapHwid = (hwid: Uint8Array): Bytes => octetString(hwid)
