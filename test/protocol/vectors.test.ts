import { describe, expect, test } from 'bun:test'
import {
  type CryptoProvider,
  formatHex,
  joinBytes,
  openRequest,
  webCryptoProvider,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { answerFrames, findSecretOf, readAnswer, seal, seeded, testWorker } from './exchange.ts'
import { fromHex, type Vectors, vectorsPath } from './vectors.ts'

const vectors: Vectors = await Bun.file(vectorsPath).json()
const workers = await Promise.all(vectors.workers.map((_, index) => testWorker(index + 1)))
const sessions = vectors.sessions.map(({ encapsulation, secret }, index) => ({
  workerId: `w_${index + 1}`,
  sealKeyId: fromHex(vectors.workers[index]!.seal_key_id),
  encapsulation: fromHex(encapsulation),
  secret: fromHex(secret),
}))

test('the recorded keys come from their seeds, the session secrets from their encapsulations', async () => {
  for (const [index, { keys }] of workers.entries()) {
    expect(formatHex(keys.publicKey)).toBe(vectors.workers[index]!.public_key)
    expect(formatHex(keys.id)).toBe(vectors.workers[index]!.seal_key_id)
    const { encapsulation, secret } = sessions[index]!
    const digest = fromHex(vectors.statement_digest)
    expect(formatHex(await keys.openSession(encapsulation, digest))).toBe(formatHex(secret))
  }
})

const providers: [string, CryptoProvider][] = [
  ['native', nativeCrypto],
  ['WebCrypto', webCryptoProvider],
]

describe.each(providers)('the %s provider', (_name, provider) => {
  test('seals the recorded request byte for byte', async () => {
    const { bytes } = await seal(seeded(provider, 3), sessions, vectors.body)
    expect(formatHex(bytes)).toBe(vectors.request)
  })

  test('seals the recorded answer byte for byte, and opens it', async () => {
    const { opener } = await seal(seeded(provider, 3), sessions, vectors.body)
    const find = findSecretOf(workers[vectors.answer_worker]!)
    const request = fromHex(vectors.request)
    const opened = await openRequest(seeded(provider, 4), find, () => {}, request)
    expect(new TextDecoder().decode(opened.body)).toBe(vectors.body)
    const frames = await answerFrames(opened, vectors.answer_texts)
    expect(frames.map(formatHex)).toEqual(vectors.answer_frames)
    const parts = await readAnswer(opener, vectors.answer_frames.map(fromHex))
    const data = parts.flatMap((part) => (part.kind === 'data' ? [part.bytes] : []))
    expect(new TextDecoder().decode(joinBytes(data))).toBe(vectors.answer_texts.join(''))
  })
})
