/** Usage as a worker signs it, for tests. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { relayHeaders } from '@privatemode/protocol/fleet'
import type { ScriptedWorker } from './scripted-worker.ts'
import { newId, type SealOptions, type TestGateway } from './test-gateway.ts'

export type ReceiptKeyPair = {
  readonly privateKey: KeyObject
  readonly publicKey: Uint8Array<ArrayBuffer>
}

export function receiptKeyPair(): ReceiptKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x } = publicKey.export({ format: 'jwk' })
  return { privateKey, publicKey: new Uint8Array(Buffer.from(x ?? '', 'base64url')) }
}

export function usageRecord(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    version: 2,
    admission: newId() + newId(),
    request_id: newId(),
    worker_id: 'w_one',
    key_ref: 'key_unknown',
    model: 'test-model',
    path: '/v1/chat/completions',
    status: 200,
    outcome: 'complete',
    prompt_tokens: 10,
    cached_tokens: 4,
    completion_tokens: 5,
    started_at: Date.now(),
    duration_ms: 120,
    ...changes,
  }
}

/** Has a request relayed, and creates the record that its worker would report. */
export async function admittedRecord(
  gateway: TestGateway,
  worker: ScriptedWorker,
  key: { readonly id: string; readonly secret: string },
  changes: Record<string, unknown> = {},
  options: SealOptions = {},
): Promise<Record<string, unknown>> {
  const requestId = options.requestId ?? newId()
  const response = await gateway.seal(key.secret, [worker.id], { ...options, requestId })
  if (response.status !== 200) throw new Error(await response.text())
  await response.text()
  const admission = worker.seen.at(-1)?.headers.get(relayHeaders.admission)
  const ids = { admission, request_id: requestId, key_ref: key.id, worker_id: worker.id }
  return usageRecord({ ...ids, ...changes })
}

export function signUsage(
  key: ReceiptKeyPair,
  record: Record<string, unknown>,
): { record: string; rest_digest: string; signature: string } {
  const bytes = Buffer.from(JSON.stringify(record))
  const restDigest = createHash('sha256').update('rest').digest()
  const message = Buffer.concat([
    Buffer.from('privatemode/v1/receipt\0'),
    createHash('sha256').update(bytes).digest(),
    restDigest,
  ])
  return {
    record: bytes.toString('base64'),
    rest_digest: restDigest.toString('hex'),
    signature: sign(null, message, key.privateKey).toString('base64'),
  }
}
