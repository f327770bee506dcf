/** A good bundle of a software worker with log proof and receipt, for tests that break one part. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Bundle } from '../bundle/bundle.ts'
import type { VerifyBundleInputs } from '../bundle/verify-bundle.ts'
import { concatBytes, formatHex, utf8 } from '../bytes.ts'
import { sha256 } from '../digest.ts'
import { defaultMaxLogAgeHours } from '../log/freshness.ts'
import { publishEntry } from '../log/publish.ts'
import { verifyLatest } from '../log/verify-latest.ts'
import type { SignedReceipt } from '../receipt.ts'
import { softwareVerifier } from '../software/verifier.ts'
import { MemoryLog, newSigner } from './memory-log.ts'
import { chatModel, noon, type SoftwareWorld } from './software-world.ts'

export type SoftwareBundle = {
  readonly bundle: Bundle
  readonly inputs: VerifyBundleInputs
  /** A receipt with changes to its two parts, signed by the worker's key by default. */
  readonly sign: (record?: object, rest?: object, key?: KeyObject) => Promise<SignedReceipt>
}

export const digestHex = async (bytes: Uint8Array) => formatHex(await sha256(bytes))

const record = {
  version: 1,
  request_id: 'ab'.repeat(16),
  worker_id: 'w_test',
  key_ref: 'k_1',
  model: chatModel.id,
  path: '/v1/chat/completions',
  status: 200,
  outcome: 'complete',
  prompt_tokens: 10,
  cached_tokens: 0,
  completion_tokens: 5,
  started_at: noon.getTime(),
  duration_ms: 100,
}

export async function softwareBundle(world: SoftwareWorld): Promise<SoftwareBundle> {
  const pair = generateKeyPairSync('ed25519')
  const raw = new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  const good = await world.inputs({ statement: { receiptKey: raw } })
  const statement = new Uint8Array(good.statement)
  const signer = await newSigner('log.example')
  const log = new MemoryLog()
  for (const entry of [utf8('an older manifest'), good.manifest.bytes]) {
    await publishEntry(log, signer, entry, { at: noon })
  }
  const trust = { logKey: signer.verifierKey, witnesses: [], quorum: 0 }
  const latest = await verifyLatest({ ...trust, read: log.read, remembered: undefined })
  const signReceipt = receiptSigner(statement, pair.privateKey)
  const { evidence, manifest, roots, revocation, nonce } = good
  return {
    bundle: {
      madeAt: noon,
      nonce: new Uint8Array(nonce),
      statement,
      evidence,
      manifest: manifest.bytes,
      logProof: latest.proof,
      receipt: await signReceipt(),
    },
    inputs: {
      manifestTrust: { kind: 'log', trust, maxAgeHours: defaultMaxLogAgeHours },
      roots,
      revocation,
      at: noon,
      software: softwareVerifier,
    },
    sign: signReceipt,
  }
}

/** Signs receipts of exchanges with the worker that created `statement`. */
export const receiptSigner =
  (statement: Uint8Array<ArrayBuffer>, ownKey: KeyObject): SoftwareBundle['sign'] =>
  async (changes, restChanges, key) => {
    const recordBytes = utf8(JSON.stringify({ ...record, ...changes }))
    const rest = {
      request_digest: await digestHex(utf8('request')),
      response_digest: await digestHex(utf8('response')),
      statement_digest: await digestHex(statement),
      salt: Buffer.alloc(32).toString('base64'),
      ...restChanges,
    }
    const restBytes = utf8(JSON.stringify(rest))
    const digests = [await sha256(recordBytes), await sha256(restBytes)]
    const message = concatBytes(utf8('privatemode/v1/receipt\0'), ...digests)
    const signature = new Uint8Array(sign(null, message, key ?? ownKey))
    return { record: recordBytes, rest: restBytes, signature }
  }
