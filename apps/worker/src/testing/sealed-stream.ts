/** A sealed answer without a worker, for tests of how answers are split into frames. */
import {
  AnswerOpener,
  type AnswerPart,
  AnswerSealer,
  type Bytes,
  encodeText,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import type { Outgoing } from '../sealed/seal-stream.ts'

const requestKey = new Uint8Array(32).fill(1)
const digest = new Uint8Array(32).fill(2)
const sealKeyId = new Uint8Array(16).fill(3)
const head = { status: 200, headers: {} }

export async function outgoing(): Promise<Outgoing> {
  const sealer = await AnswerSealer.start(nativeCrypto, requestKey, digest, sealKeyId)
  return { sealer, head, finish: () => encodeText('{"receipt":1}') }
}

export async function open(bytes: Bytes): Promise<AnswerPart[]> {
  const workers = [{ workerId: 'w', sealKeyId }]
  const opener = new AnswerOpener(nativeCrypto, requestKey, digest, workers)
  const parts = await opener.push(bytes)
  opener.finish()
  return parts
}

export const textOf = (parts: readonly AnswerPart[]) =>
  parts.map((part) => (part.kind === 'data' ? new TextDecoder().decode(part.bytes) : '')).join('')

export async function* pieces(texts: readonly string[], failure?: Error): AsyncGenerator<Bytes> {
  for (const text of texts) {
    await Bun.sleep(1)
    yield encodeText(text)
  }
  if (failure !== undefined) throw failure
}

/** The lengths of frames on the wire, without the 52-byte clear prelude. */
export function frameLengths(bytes: Bytes): number[] {
  const lengths: number[] = []
  for (let at = 52; at < bytes.length; at += 5 + (lengths.at(-1) ?? 0)) {
    lengths.push(new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0))
  }
  return lengths
}
