/** What the stages of a long prompt cost the proxy, measured one by one like those of a small chat. */
import { releaseOwnBytes } from '@privatemode/http'
import { scanBody } from '@privatemode/protocol/api'
import type { Bytes } from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { requestBody } from '../load/load-spec.ts'
import { leastUs, type Stage, settled } from './least-us.ts'
import { seal } from './sample-request.ts'
import { socketTransferUs } from './socket-round-trip.ts'

const promptBytes = 10_485_760
/** The most that one socket read returns. */
const pieceBytes = 512 * 1024
/** What a frame of a request holds. */
const frameBytes = 256 * 1024

export async function measurePrompt(
  tries: number,
): Promise<{ readonly stages: readonly Stage[]; readonly bareUs: number }> {
  const body = new TextEncoder().encode(requestBody({ kind: 'chat', bodyBytes: promptBytes }))
  const effort = { tries, calls: 1 }
  const transferUs = await socketTransferUs(body, frameBytes, effort)
  return {
    stages: [
      { name: 'sockets: read all, write all', us: transferUs },
      { name: 'put the body together', us: leastUs(effort, () => putTogether(body)) },
      { name: 'scan the body', us: leastUs(effort, () => scanBody(body)) },
      { name: 'seal the request', us: leastUs(effort, () => sealAll(body)) },
    ],
    bareUs: leastUs(effort, bareSeal(body)),
  }
}

function putTogether(body: Bytes): void {
  const whole = Buffer.allocUnsafeSlow(body.length)
  for (let at = 0; at < body.length; at += pieceBytes) {
    whole.set(body.subarray(at, at + pieceBytes), at)
  }
  releaseOwnBytes(whole)
}

function sealAll(body: Bytes): void {
  const request = seal(body)
  for (let frame = request.next(); frame !== undefined; frame = request.next()) {
    for (const piece of settled(frame)) releaseOwnBytes(piece)
  }
}

function bareSeal(text: Bytes): () => void {
  const [key, nonce, aad] = [nativeCrypto.random(32), new Uint8Array(12), new Uint8Array(5)]
  const aead = settled(nativeCrypto.aeadKey(key))
  return () => {
    for (let at = 0; at < text.length; at += frameBytes) {
      const sealed = settled(aead.seal(nonce, aad, [text.subarray(at, at + frameBytes)]))
      for (const piece of sealed) releaseOwnBytes(piece)
    }
  }
}
