/** One sealed exchange between a client and workers, with randomness and time as arguments. */
import type { AttestedWorker } from '@privatemode/attestation'
import {
  type AnswerOpener,
  type AnswerPart,
  type Bytes,
  type CryptoProvider,
  dataRecord,
  deriveSealKeyPair,
  encodeText,
  endRecord,
  establishSession,
  headRecord,
  type OpenedRequest,
  openRequest,
  type RequestContext,
  type SealedRequest,
  type SealKeyPair,
  type Session,
  sealRequest,
  wholeRecord,
} from '@privatemode/protocol/envelope'

export const statementDigest = new Uint8Array(32).fill(7)

export type TestWorker = { keys: SealKeyPair; worker: AttestedWorker }

/** A worker whose key comes from a seed. It was not attested: these tests cover only sealing. */
export async function testWorker(seed: number): Promise<TestWorker> {
  const keys = await deriveSealKeyPair(new Uint8Array(32).fill(seed))
  const worker = {
    workerId: `w_${seed}`,
    sealKey: { id: keys.id, publicKey: keys.publicKey, expiresAt: new Date(8.64e15) },
    statementDigest,
  } as unknown as AttestedWorker
  return { keys, worker }
}

export const sessionsWith = (workers: readonly TestWorker[]): Promise<Session[]> =>
  Promise.all(workers.map(({ worker }) => establishSession(worker)))

export const context: RequestContext = {
  requestId: new Uint8Array(16).fill(9),
  issuedAtMs: 1_800_000_000_000,
  method: 'POST',
  path: '/v1/chat/completions',
  model: 'stories-15m',
}

export const head = { headers: { 'anthropic-version': '2023-06-01' }, shape: 'default' } as const

export const findSecretOf =
  (...workers: readonly TestWorker[]) =>
  (sealKeyId: Bytes, encapsulation: Bytes) => {
    const own = workers.find(({ keys }) => Buffer.compare(keys.id, sealKeyId) === 0)
    return own?.keys.openSession(encapsulation, statementDigest)
  }

export async function seal(
  provider: CryptoProvider,
  sessions: readonly Session[],
  body: string | Bytes = '{"model":"stories-15m"}',
  over: Partial<RequestContext> = {},
): Promise<SealedRequest> {
  const bytes = typeof body === 'string' ? encodeText(body) : body
  return await sealRequest(provider, sessions, { ...context, ...over }, head, bytes)
}

export async function open(
  provider: CryptoProvider,
  worker: TestWorker,
  bytes: Bytes,
): Promise<OpenedRequest> {
  return await openRequest(provider, findSecretOf(worker), () => {}, bytes)
}

/** An answer of several frames; each entry of the result is one frame, the first the prelude. */
export async function answerFrames(
  request: OpenedRequest,
  texts: readonly string[],
): Promise<Bytes[]> {
  const sealer = await request.sealAnswer()
  const frames = [sealer.prelude]
  frames.push(
    await sealer.seal(headRecord({ status: 200, headers: { 'content-type': 'x' } }), false),
  )
  for (const [index, text] of texts.entries()) {
    const mark = index === texts.length - 1 ? wholeRecord() : []
    frames.push(await sealer.seal([...dataRecord(encodeText(text)), ...mark], false, 64))
  }
  frames.push(await sealer.seal(endRecord(encodeText('{}')), true, 64))
  return frames
}

/** The same provider with seeded randomness, so that an exchange can be reproduced. */
export function seeded(provider: CryptoProvider, seed: number): CryptoProvider {
  let draws = 0
  return { ...provider, random: (length) => new Uint8Array(length).fill(seed * 16 + draws++) }
}

/** Pushes every chunk and ends; resolves to the parts or rejects with what the opener throws. */
export async function readAnswer(
  opener: AnswerOpener,
  chunks: readonly Bytes[],
): Promise<AnswerPart[]> {
  const parts: AnswerPart[] = []
  for (const chunk of chunks) parts.push(...(await opener.push(chunk)))
  opener.finish()
  return parts
}
