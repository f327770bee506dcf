/** The evidence bundle: one file with everything a verification used, so that it can be repeated later. */

import { parseEvidence } from '../attestation-response.ts'
import { type Bytes, formatBase64, formatHex, utf8 } from '../bytes.ts'
import type { Evidence } from '../evidence.ts'
import { Fields, formatInstant } from '../fields.ts'
import { maxManifestBytes } from '../manifest/manifest.ts'
import { readReceipt, type SignedReceipt } from '../receipt.ts'
import { parseJson } from '../strict-json.ts'

export type Bundle = {
  /** When it was assembled; informational, and never used as the time of a verification. */
  readonly madeAt: Date
  readonly nonce: Bytes
  readonly statement: Bytes
  /** Including the collateral that was stapled to it. */
  readonly evidence: Evidence
  readonly manifest: Bytes
  /** c2sp.org/tlog-proof; absent if the manifest was pinned. */
  readonly logProof: Bytes | undefined
  readonly receipt: SignedReceipt | undefined
}

export const maxBundleBytes = 32 * 1024 * 1024
const code = 'bundle_malformed'

export function formatEvidenceBundle(bundle: Bundle): Bytes {
  const { receipt, logProof } = bundle
  const document = {
    version: 1,
    made_at: formatInstant(bundle.madeAt),
    nonce: formatHex(bundle.nonce),
    statement: formatBase64(bundle.statement),
    evidence: bundle.evidence,
    manifest: formatBase64(bundle.manifest),
    log_proof: logProof === undefined ? undefined : formatBase64(logProof),
    receipt:
      receipt === undefined
        ? undefined
        : {
            record: formatBase64(receipt.record),
            rest: formatBase64(receipt.rest),
            signature: formatBase64(receipt.signature),
          },
  }
  return utf8(`${JSON.stringify(document, null, 1)}\n`)
}

export function parseEvidenceBundle(bytes: Uint8Array): Bundle {
  const json = parseJson(bytes, { what: 'bundle', code, maxBytes: maxBundleBytes })
  const fields = new Fields(json, 'bundle', { malformed: code, unknown: code })
  const version = fields.integer('version')
  if (version !== 1) fields.refuse('version', `${version}, expected 1`)
  const bundle = {
    madeAt: fields.instant('made_at'),
    nonce: fields.hexBytes('nonce', 32),
    statement: fields.base64('statement', { max: 64 * 1024 }),
    evidence: parseEvidence(fields.value('evidence'), 'bundle.evidence'),
    manifest: fields.base64('manifest', { max: maxManifestBytes }),
    logProof: fields.optional('log_proof', (name) => fields.base64(name, { max: 128 * 1024 })),
    receipt: fields.optional('receipt', (name) => fields.object(name, readReceipt)),
  }
  fields.end()
  return bundle
}
