/** Generates the vectors of the sealed format: run `bun test/protocol/vectors.ts` to rewrite them. */
import { type Bytes, openRequest } from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import {
  answerFrames,
  context,
  findSecretOf,
  head,
  seal,
  seeded,
  sessionsWith,
  statementDigest,
  testWorker,
} from './exchange.ts'

export type Vectors = {
  note: string
  workers: { seed: string; public_key: string; seal_key_id: string }[]
  statement_digest: string
  sessions: { encapsulation: string; secret: string }[]
  context: { request_id: string; issued_at_ms: number; method: string; path: string; model: string }
  head: typeof head
  body: string
  request_key: string
  request: string
  answer_worker: number
  answer_salt: string
  answer_texts: string[]
  answer_frames: string[]
}

export const vectorsPath = new URL('../vectors/envelope.json', import.meta.url)
const requestSeed = 3
const answerSeed = 4
const body = '{"model":"stories-15m","messages":[{"role":"user","content":"Once upon a time"}]}'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

async function makeVectors(): Promise<Vectors> {
  const workers = await Promise.all([testWorker(1), testWorker(2)])
  const sessions = await sessionsWith(workers)
  const provider = seeded(nativeCrypto, requestSeed)
  const { bytes } = await seal(provider, sessions, body)
  const texts = ['Once ', 'upon ', 'a time']
  const [first] = workers
  if (first === undefined) throw new Error('no worker')
  const find = findSecretOf(first)
  const opened = await openRequest(seeded(nativeCrypto, answerSeed), find, () => {}, bytes)
  const frames = await answerFrames(opened, texts)
  return {
    note: 'Byte strings are hexadecimal. Randomness: see the seeds of test/protocol/exchange.ts.',
    workers: workers.map(({ keys }, index) => ({
      seed: hex(new Uint8Array(32).fill(index + 1)),
      public_key: hex(keys.publicKey),
      seal_key_id: hex(keys.id),
    })),
    statement_digest: hex(statementDigest),
    sessions: sessions.map(({ encapsulation, secret }) => ({
      encapsulation: hex(encapsulation),
      secret: hex(secret),
    })),
    context: {
      request_id: hex(context.requestId),
      issued_at_ms: context.issuedAtMs,
      method: context.method,
      path: context.path,
      model: context.model,
    },
    head,
    body,
    request_key: hex(seeded(nativeCrypto, requestSeed).random(32)),
    request: hex(bytes),
    answer_worker: 0,
    answer_salt: hex(seeded(nativeCrypto, answerSeed).random(32)),
    answer_texts: texts,
    answer_frames: frames.map(hex),
  }
}

export const fromHex = (text: string): Bytes => new Uint8Array(Buffer.from(text, 'hex'))

if (import.meta.main) {
  await Bun.write(vectorsPath, `${JSON.stringify(await makeVectors(), null, 1)}\n`)
}
