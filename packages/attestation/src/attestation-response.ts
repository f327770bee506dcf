/** A worker's response to a nonce: the statement's exact bytes and the evidence that binds them. */
import { type Bytes, formatBase64, utf8 } from './bytes.ts'
import type { CpuEvidence, DeviceEvidence, Evidence } from './evidence.ts'
import { Fields } from './fields.ts'
import { type JsonValue, parseJson } from './strict-json.ts'
import { AttestationError } from './verdict.ts'

export type Attestation = { readonly statement: Bytes; readonly evidence: Evidence }

/** Three times the size of eight GPUs with their reference manifests. */
export const maxAttestationBytes = 24 * 1024 * 1024
export const maxDevices = 16
const maxBlobCharacters = 8 * 1024 * 1024
const codes = { malformed: 'evidence_malformed', unknown: 'evidence_malformed' } as const

export function formatAttestation(attestation: Attestation): Bytes {
  const { statement, evidence } = attestation
  return utf8(JSON.stringify({ statement: formatBase64(statement), evidence }))
}

/** Parses the body of an attestation response; nothing in it is trusted yet. */
export function parseAttestation(body: Uint8Array): Attestation {
  const json = parseJson(body, {
    what: 'attestation',
    code: 'evidence_malformed',
    maxBytes: maxAttestationBytes,
  })
  const fields = new Fields(json, 'attestation', codes)
  const attestation = {
    statement: fields.base64('statement', { max: 64 * 1024 }),
    evidence: parseEvidence(fields.value('evidence'), 'attestation.evidence'),
  }
  fields.end()
  return attestation
}

export function parseEvidence(json: JsonValue, path: string): Evidence {
  const fields = new Fields(json, path, codes)
  const evidence = {
    cpu: fields.object('cpu', readCpuEvidence),
    devices: fields.objects('devices', { min: 0, max: maxDevices }, readDeviceEvidence),
  }
  fields.end()
  return evidence
}

function readCpuEvidence(fields: Fields): CpuEvidence {
  const kind = fields.text('kind', 32)
  switch (kind) {
    case 'snp':
      return {
        kind,
        report: blob(fields, 'report'),
        certificates: blobs(fields, 'certificates'),
        crls: blobs(fields, 'crls'),
      }
    case 'tdx':
      return {
        kind,
        quote: blob(fields, 'quote'),
        collateral: fields.object('collateral', (collateral) => ({
          tcb_info_issuer_chain: blob(collateral, 'tcb_info_issuer_chain'),
          tcb_info: blob(collateral, 'tcb_info'),
          tcb_info_signature: blob(collateral, 'tcb_info_signature'),
          qe_identity_issuer_chain: blob(collateral, 'qe_identity_issuer_chain'),
          qe_identity: blob(collateral, 'qe_identity'),
          qe_identity_signature: blob(collateral, 'qe_identity_signature'),
          pck_crl_issuer_chain: blob(collateral, 'pck_crl_issuer_chain'),
          pck_crl: blob(collateral, 'pck_crl'),
          root_ca_crl: blob(collateral, 'root_ca_crl'),
        })),
      }
    case 'software':
      return {
        kind,
        report: blob(fields, 'report'),
        signature: blob(fields, 'signature'),
        certificates: blobs(fields, 'certificates'),
      }
    default:
      return refuseKind(fields, kind)
  }
}

function readDeviceEvidence(fields: Fields): DeviceEvidence {
  const kind = fields.text('kind', 32)
  if (kind !== 'nvidia-gpu') return refuseKind(fields, kind)
  return {
    kind,
    report: blob(fields, 'report'),
    certificate_chain: blob(fields, 'certificate_chain'),
    rims: blobs(fields, 'rims'),
    ocsp: blobs(fields, 'ocsp'),
  }
}

function refuseKind(fields: Fields, kind: string): never {
  throw new AttestationError(
    'evidence_unsupported',
    `${fields.path}.kind: unknown kind ${JSON.stringify(kind)}`,
  )
}

function blob(fields: Fields, name: string): string {
  return checkedBlob(fields.value(name), fields, name)
}

function blobs(fields: Fields, name: string): string[] {
  return fields.array(name, { min: 0, max: 16 }, (item) => checkedBlob(item, fields, name))
}

// The verifier for its kind decides whether it is base64, hex or PEM.
function checkedBlob(value: JsonValue, fields: Fields, name: string): string {
  if (typeof value !== 'string') return fields.refuse(name, 'not a string')
  if (value.length > maxBlobCharacters) return fields.refuse(name, 'too long')
  return value
}
