/** Creates software evidence: what a worker without protected hardware can present. */
import { formatBase64, formatHex, utf8 } from '../bytes.ts'
import type { SoftwareEvidence } from '../evidence.ts'
import type { SoftwareIdentity } from './identity.ts'

export {
  createSoftwareRoot,
  formatSoftwareIdentity,
  type Issuance,
  issueSoftwareLeaf,
  parseSoftwareIdentity,
  type SoftwareIdentity,
  softwareRootFingerprint,
} from './identity.ts'

export type SoftwareReportInputs = {
  /** 48 bytes: the digest of the running software. */
  readonly measurement: Uint8Array
  /** 64 bytes: the binding of nonce, statement and devices. */
  readonly reportData: Uint8Array
  readonly tcb?: number
  readonly debug?: boolean
}

export async function produceSoftwareEvidence(
  identity: SoftwareIdentity,
  inputs: SoftwareReportInputs,
): Promise<SoftwareEvidence> {
  const report = utf8(
    JSON.stringify({
      version: 1,
      measurement: formatHex(inputs.measurement),
      report_data: formatHex(inputs.reportData),
      debug: inputs.debug ?? false,
      tcb: inputs.tcb ?? 1,
    }),
  )
  const parameters = { name: 'ECDSA', hash: 'SHA-384' }
  const signature = await crypto.subtle.sign(parameters, identity.privateKey, report)
  return {
    kind: 'software',
    report: formatBase64(report),
    signature: formatBase64(new Uint8Array(signature)),
    certificates: identity.certificates.map(formatBase64),
  }
}
