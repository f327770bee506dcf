/** Signs receipts: one signature over the usage and over the part that only the client sees. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  type Bytes,
  encodeText,
  type ReceiptRest,
  receiptMessage,
  type UsageRecord,
} from '@privatemode/protocol/envelope'
import { type SignedUsage, type UsageReport, usageReportText } from '@privatemode/protocol/fleet'
import { nativeCrypto } from '@privatemode/service/native-crypto'

export type SignedReceipt = { readonly receipt: Bytes; readonly usage: SignedUsage }

/** The worker's receipt key. It lives as long as the process. */
export class ReceiptSigner {
  readonly #privateKey: KeyObject
  /** Raw Ed25519 public key, named in the statement. */
  readonly publicKey: Bytes

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    this.#privateKey = privateKey
    const { x } = publicKey.export({ format: 'jwk' })
    this.publicKey = new Uint8Array(Buffer.from(x ?? '', 'base64url'))
  }

  sign(record: UsageRecord, rest: Omit<ReceiptRest, 'salt'>): SignedReceipt {
    const recordBytes = encodeText(JSON.stringify(record))
    const salt = randomBytes(32).toString('base64')
    const restBytes = encodeText(JSON.stringify({ ...rest, salt }))
    const restDigest = nativeCrypto.sha256(restBytes)
    const message = receiptMessage(nativeCrypto.sha256(recordBytes), restDigest)
    const signature = sign(null, message, this.#privateKey).toString('base64')
    const recordBase64 = Buffer.from(recordBytes).toString('base64')
    const receipt = {
      record: recordBase64,
      rest: Buffer.from(restBytes).toString('base64'),
      signature,
    }
    return {
      receipt: encodeText(JSON.stringify(receipt)),
      usage: {
        record: recordBase64,
        rest_digest: Buffer.from(restDigest).toString('hex'),
        signature,
      },
    }
  }

  signReport(records: readonly SignedUsage[]): UsageReport {
    const message = encodeText(usageReportText(records))
    return { records, signature: sign(null, message, this.#privateKey).toString('base64') }
  }
}
