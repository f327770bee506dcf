/** What evidence must contain to be bound to this nonce, this statement and these devices. */
import { type Bytes, concatBytes, uint32Bytes, utf8 } from './bytes.ts'
import { sha256, sha512 } from './digest.ts'
import { AttestationError } from './verdict.ts'

/** The client's nonce: 32 random bytes, used once. */
export const nonceBytes = 32

// Both labels are 32 bytes, ASCII padded with zeros: every hash input has a fixed length.
const reportDataLabel = label('privatemode/v1/report-data')
const deviceNonceLabel = label('privatemode/v1/device-nonce')

export type BindingInputs = { readonly nonce: Uint8Array; readonly statement: Uint8Array }

/** The 64 bytes of REPORT_DATA: SHA-512(label ‖ nonce ‖ SHA-256(statement) ‖ SHA-256(devices)). */
export async function reportData(
  inputs: BindingInputs & { readonly deviceReports: readonly Uint8Array[] },
): Promise<Bytes> {
  const statementDigest = await sha256(inputs.statement)
  const devicesDigest = await deviceEvidenceDigest(inputs.deviceReports)
  const nonce = checkedNonce(inputs.nonce)
  return sha512(concatBytes(reportDataLabel, nonce, statementDigest, devicesDigest))
}

/** The nonce that devices sign: SHA-256(label ‖ nonce ‖ SHA-256(statement)). */
export async function deviceNonce(inputs: BindingInputs): Promise<Bytes> {
  const statementDigest = await sha256(inputs.statement)
  return sha256(concatBytes(deviceNonceLabel, checkedNonce(inputs.nonce), statementDigest))
}

/** SHA-256 over the exact reports in order, each prefixed with its length (4 bytes, big-endian). */
export async function deviceEvidenceDigest(reports: readonly Uint8Array[]): Promise<Bytes> {
  const parts = reports.flatMap((report) => [uint32Bytes(report.length), report])
  return sha256(concatBytes(...parts))
}

function checkedNonce(nonce: Uint8Array): Uint8Array {
  if (nonce.length === nonceBytes) return nonce
  throw new AttestationError(
    'nonce_mismatch',
    `nonce has ${nonce.length} bytes, expected ${nonceBytes}`,
  )
}

function label(text: string): Bytes {
  const bytes = new Uint8Array(32)
  bytes.set(utf8(text))
  return bytes
}
