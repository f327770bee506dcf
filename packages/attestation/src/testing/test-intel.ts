/** A stand-in for Intel in tests: root, PCK CA, TCB signer, and the documents it signs. */
import { type Bytes, formatBase64, formatHex, utf8 } from '../bytes.ts'
import type { AuthenticityContext, TdxCollateral, TdxEvidence } from '../evidence.ts'
import { fingerprint } from '../x509/certificate.ts'
import { issueCertificate, issueCrl, issueRoot, keyUsageBits, testNow } from './test-authority.ts'
import { makeKey } from './test-key.ts'
import {
  filled,
  formatQuote,
  pckExtension,
  type TdxMachine,
  testMachine,
} from './test-tdx-machine.ts'

const level = (status: string, tcb: object, advisoryIDs?: string[]) => ({
  tcb,
  tcbDate: '2024-11-13T00:00:00Z',
  tcbStatus: status,
  ...(advisoryIDs && { advisoryIDs }),
})
const components = (svns: readonly number[]) => svns.map((svn) => ({ svn }))
const dates = { issueDate: '2025-12-20T00:00:00Z', nextUpdate: '2026-01-19T00:00:00Z' }
const signer = {
  mrsigner: '0'.repeat(96),
  attributes: '0'.repeat(16),
  attributesMask: 'F'.repeat(16),
}
const platform = (
  status: string,
  pcesvn: number,
  sgx: readonly number[],
  tdx: number[],
  ids?: string[],
) =>
  level(
    status,
    {
      sgxtcbcomponents: components(sgx),
      pcesvn,
      tdxtcbcomponents: components([...tdx, ...filled(13, 0)]),
    },
    ids,
  )

/** As Intel's service would respond; mutable, so that a test can edit its own copy. */
export const testTcbInfo = () => ({
  id: 'TDX',
  version: 3,
  ...dates,
  fmspc: '90c06f000000',
  pceId: '0000',
  tcbType: 0,
  tcbEvaluationDataNumber: 18,
  tdxModule: { ...signer },
  tdxModuleIdentities: [
    {
      id: 'TDX_01',
      ...signer,
      tcbLevels: [
        level('UpToDate', { isvsvn: 6 }),
        level('OutOfDate', { isvsvn: 4 }, ['SA-MODULE']),
      ],
    },
  ],
  tcbLevels: [
    platform('UpToDate', 13, testMachine.components, [5, 0, 3]),
    platform(
      'OutOfDate',
      5,
      [2, 2, ...testMachine.components.slice(2)],
      [3, 0, 2],
      ['SA-PLATFORM'],
    ),
  ],
})

export const testQeIdentity = () => ({
  id: 'TD_QE',
  version: 2,
  ...dates,
  tcbEvaluationDataNumber: 18,
  miscselect: '00000000',
  miscselectMask: 'FFFFFFFF',
  attributes: '11000000000000000000000000000000',
  attributesMask: 'FBFFFFFFFFFFFFFF0000000000000000',
  mrsigner: 'DC'.repeat(32),
  isvprodid: 2,
  tcbLevels: [level('UpToDate', { isvsvn: 4 }), level('OutOfDate', { isvsvn: 2 }, ['SA-QE'])],
})

export type TestIntel = Awaited<ReturnType<typeof makeTestIntel>>

export async function makeTestIntel() {
  const subject = async (name: string) => ({ name, key: await makeKey('p256') })
  const root = await subject('Intel SGX Root CA')
  const ca = await subject('Intel SGX PCK Platform CA')
  const tcbSigner = await subject('Intel SGX TCB Signing')
  const pck = await subject('Intel SGX PCK Certificate')
  const attestationKey = await makeKey('p256')
  const caUsage = keyUsageBits.keyCertSign | keyUsageBits.cRLSign
  const rootDer = await issueRoot(root)
  const caDer = await issueCertificate({
    subject: ca,
    issuer: root,
    serial: 2,
    ca: { pathLength: 0 },
    keyUsage: caUsage,
  })
  const signerDer = await issueCertificate({
    subject: tcbSigner,
    issuer: root,
    serial: 3,
    keyUsage: keyUsageBits.digitalSignature,
  })

  const context: AuthenticityContext = {
    roots: {
      amd: [],
      intel: [await fingerprint(rootDer)],
      nvidiaDevice: [],
      nvidiaRim: [],
      software: [],
    },
    revocation: { allowUnknown: false, revokedGraceHours: 0 },
    at: testNow,
  }

  const makeQuote = async (changes: Partial<TdxMachine> = {}): Promise<Bytes> => {
    const machine = { ...testMachine, ...changes }
    const pckDer = await issueCertificate({
      subject: pck,
      issuer: ca,
      serial: 4,
      keyUsage: keyUsageBits.digitalSignature,
      extensions: machine.withoutExtension ? [] : [pckExtension(machine)],
    })
    return formatQuote(machine, attestationKey, pck.key, formatPem(pckDer, caDer, rootDer))
  }

  const makeCollateral = async (
    tcbInfo: object = testTcbInfo(),
    qeIdentity: object = testQeIdentity(),
  ): Promise<TdxCollateral> => {
    const sign = async (text: string) => formatHex(await tcbSigner.key.signRaw(utf8(text)))
    const [tcbText, qeText] = [JSON.stringify(tcbInfo), JSON.stringify(qeIdentity)]
    return {
      tcb_info: tcbText,
      tcb_info_signature: await sign(tcbText),
      tcb_info_issuer_chain: formatPem(signerDer, rootDer),
      qe_identity: qeText,
      qe_identity_signature: await sign(qeText),
      qe_identity_issuer_chain: formatPem(signerDer, rootDer),
      pck_crl_issuer_chain: formatPem(caDer, rootDer),
      pck_crl: formatBase64(await issueCrl({ issuer: ca })),
      root_ca_crl: formatBase64(await issueCrl({ issuer: root })),
    }
  }

  const attest = async (
    changes: Partial<TdxMachine> = {},
    collateral?: Partial<TdxCollateral>,
  ): Promise<TdxEvidence> => ({
    kind: 'tdx',
    quote: formatBase64(await makeQuote(changes)),
    collateral: { ...(await makeCollateral()), ...collateral },
  })

  return {
    root,
    ca,
    tcbSigner,
    rootDer,
    caDer,
    signerDer,
    context,
    makeQuote,
    makeCollateral,
    attest,
  }
}

export const formatPem = (...certificates: readonly Uint8Array[]): string =>
  certificates
    .map((der) => (formatBase64(der).match(/.{1,64}/g) ?? []).join('\n'))
    .map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`)
    .join('')
