/** Requests as the proxy seals them, for a worker that need not exist. */
import { type Bytes, beginRequest } from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { settled } from './least-us.ts'

export const session = {
  workerId: 'w_bench',
  sealKeyId: nativeCrypto.random(16),
  encapsulation: nativeCrypto.random(1120),
  secret: nativeCrypto.random(32),
}
const requestHead = { headers: {}, shape: 'default', manifest_digest: 'ab'.repeat(32) } as const

export const seal = (body: Bytes) =>
  settled(beginRequest(nativeCrypto, [session], newContext(), requestHead, body))

const newContext = () => ({
  requestId: nativeCrypto.random(16),
  issuedAtMs: Date.now(),
  method: 'POST',
  path: '/v1/chat/completions',
  model: 'bench',
})
