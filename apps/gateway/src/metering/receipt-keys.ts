/** Workers' receipt keys, imported for verification. */
import type { Queries, Row } from '../state/database.ts'

const maxCached = 1_000
const maxKeysPerWorker = 16

/** A worker's newest keys: a restarted worker has a new one, and its old reports are still valid. */
export class ReceiptKeys {
  readonly #database: Queries
  readonly #keys = new Map<string, CryptoKey[]>()

  constructor(database: Queries) {
    this.#database = database
  }

  /** Whether one of the worker's keys made the signature. */
  async verify(
    workerId: string,
    message: Uint8Array<ArrayBuffer>,
    signatureBase64: string,
  ): Promise<boolean> {
    const signature = new Uint8Array(Buffer.from(signatureBase64, 'base64'))
    for (const key of this.#keys.get(workerId) ?? []) {
      if (await crypto.subtle.verify('Ed25519', key, signature, message)) return true
    }
    // A key unknown here may be new: query the database.
    for (const key of await this.#read(workerId)) {
      if (await crypto.subtle.verify('Ed25519', key, signature, message)) return true
    }
    return false
  }

  async #read(workerId: string): Promise<CryptoKey[]> {
    const rows = await this.#database.query<{ receipt_key: Uint8Array } & Row>(
      `select receipt_key from worker_receipt_keys where worker_id = $1
       order by first_seen_at desc limit ${maxKeysPerWorker}`,
      [workerId],
    )
    const keys = await Promise.all(
      rows.map(({ receipt_key }) =>
        crypto.subtle.importKey('raw', new Uint8Array(receipt_key), 'Ed25519', false, ['verify']),
      ),
    )
    if (this.#keys.size >= maxCached) this.#keys.clear()
    this.#keys.set(workerId, keys)
    return keys
  }
}
