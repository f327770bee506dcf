/**
 * What each stage of the proxy's hot path costs, measured one by one in this process.
 *
 * CPU time, the minimum of several tries: other work on the machine makes a try more expensive, never
 * cheaper. The sockets' part is one round trip over loopback, which is what a request costs the
 * proxy: a read and a write on either side.
 */

import { ChunkedScanner } from '@privatemode/http'
import { scanBody } from '@privatemode/protocol/api'
import {
  AnswerOpener,
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  joinBytes,
  openRequest,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { createMessageFormat } from '../../apps/proxy/src/exchange/backend-link.ts'
import { EventCutter } from '../../apps/proxy/src/exchange/event-cutter.ts'
import { formatResponseHead } from '../../apps/proxy/src/exchange/response-head.ts'
import { pickInward } from '../../apps/proxy/src/inbound/outward-headers.ts'
import { parseRequestHead, readHeadText } from '../../packages/http/src/request-head.ts'
import { parseResponseHead } from '../../packages/http/src/response-head.ts'
import { requestBody } from '../load/load-spec.ts'
import { type Effort, leastUs, type Stage, settled } from './least-us.ts'
import { measurePrompt } from './prompt-stages.ts'
import { seal, session } from './sample-request.ts'
import { socketRoundTripUs } from './socket-round-trip.ts'

export type Stages = {
  readonly chat: readonly Stage[]
  readonly chunk: readonly Stage[]
  readonly prompt: readonly Stage[]
  /** The same bytes through the bare primitives, nothing else. */
  readonly bare: { readonly chat: number; readonly chunk: number; readonly prompt: number }
}

const encode = (text: string): Bytes => new TextEncoder().encode(text)

export async function measureStages(effort: Effort): Promise<Stages> {
  const chatBody = encode(requestBody({ kind: 'chat', bodyBytes: 1024 }))
  const answer = await sealedAnswers(chatBody)
  const event = encode(`data: ${'x'.repeat(170)}\n\n`)
  const tripUs = await socketRoundTripUs(effort)
  const prompt = await measurePrompt(effort.tries)
  return {
    chat: [
      { name: 'sockets: two reads, two writes', us: tripUs },
      ...inProcess(chatBody, answer, effort),
    ],
    chunk: [
      { name: 'sockets: a read, a write', us: tripUs / 2 },
      ...(await streamStages(event, effort)),
    ],
    prompt: prompt.stages,
    bare: {
      chat: leastUs(effort, bareChat(chatBody)),
      chunk: leastUs(effort, bareOpen(event)),
      prompt: prompt.bareUs,
    },
  }
}

function inProcess(body: Bytes, answer: () => Answer, effort: Effort): Stage[] {
  const head = Buffer.from(
    'POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:8080\r\ncontent-length: 1024\r\ncontent-type: application/json\r\n\r\n',
  )
  const answerHead = Buffer.from(
    'HTTP/1.1 200 OK\r\ncontent-type: application/privatemode-sealed\r\ndate: Sun, 15 Nov 2026 07:00:00 GMT\r\ncontent-length: 1861\r\n\r\n',
  )
  const format = createMessageFormat('http://127.0.0.1:9000')
  const request = seal(body)
  const id = 'ab'.repeat(16)
  const headers = {
    authorization: 'Bearer bench',
    'content-type': 'application/privatemode-sealed',
    'privatemode-request-id': id,
    'privatemode-model': 'bench',
    'privatemode-path': '/v1/chat/completions',
    'privatemode-workers': 'w_bench',
  }
  return [
    {
      name: "read the request's head",
      us: leastUs(effort, () => parseRequestHead(readHeadText(head) ?? '')),
    },
    { name: 'scan the body', us: leastUs(effort, () => scanBody(body)) },
    { name: 'derive keys, wrap, seal', us: leastUs(effort, () => seal(body)) },
    {
      name: 'write the sealed request',
      us: leastUs(effort, () =>
        format({ requestId: id, model: 'm', headers, request, workers: [] }),
      ),
    },
    {
      name: "read the answer's head",
      us: leastUs(effort, () => parseResponseHead(readHeadText(answerHead) ?? '')),
    },
    { name: 'open the answer', us: leastUs(effort, () => openAnswer(answer())) },
    {
      name: 'write the answer',
      us: leastUs(effort, () =>
        formatResponseHead(200, pickInward({ 'content-type': 'application/json' })),
      ),
    },
  ]
}

type Answer = { readonly bytes: Bytes; readonly key: Bytes; readonly digest: Bytes }

/** One answer, opened repeatedly: its key and digest represent those of any request. */
async function sealedAnswers(body: Bytes): Promise<() => Answer> {
  const { AnswerSealer } = await import('@privatemode/protocol/envelope')
  const [key, digest] = [nativeCrypto.random(32), nativeCrypto.random(32)]
  const sealer = settled(AnswerSealer.start(nativeCrypto, key, digest, session.sealKeyId))
  const head = headRecord({ status: 200, headers: { 'content-type': 'application/json' } })
  const records = [...head, ...dataRecord(body), ...endRecord(new Uint8Array(600))]
  const frame = settled(sealer.seal(records, true, 1792))
  const answer = { bytes: joinBytes([sealer.prelude, frame]), key, digest }
  return () => answer
}

function openAnswer({ bytes, key, digest }: Answer): void {
  const opener = new AnswerOpener(nativeCrypto, key, digest, [session])
  settled(opener.push(bytes))
  opener.finish()
}

/** A stream of one event in each frame, as a paced one is; the cost of a frame is taken from many. */
async function streamStages(event: Bytes, effort: Effort): Promise<Stage[]> {
  const { AnswerSealer } = await import('@privatemode/protocol/envelope')
  const [key, digest] = [nativeCrypto.random(32), nativeCrypto.random(32)]
  const sealer = settled(AnswerSealer.start(nativeCrypto, key, digest, session.sealKeyId))
  const first = settled(sealer.seal(headRecord({ status: 200, headers: {} }), false))
  const frames = Array.from({ length: 256 }, () => settled(sealer.seal(dataRecord(event), false)))
  const openAll = () => {
    const opener = new AnswerOpener(nativeCrypto, key, digest, [session])
    settled(opener.push(joinBytes([sealer.prelude, first])))
    for (const frame of frames) settled(opener.push(frame))
  }
  const chunk = Buffer.from(
    `${(event.length + 26).toString(16)}\r\n${'x'.repeat(event.length + 26)}\r\n`,
  )
  const few = { tries: effort.tries, calls: Math.max(1, Math.floor(effort.calls / 256)) }
  const cutter = new EventCutter()
  return [
    {
      name: 'follow the chunks of the transfer',
      us: leastUs(effort, () => new ChunkedScanner().scan(chunk, 0, () => {})),
    },
    { name: 'open the frame', us: leastUs(few, openAll) / frames.length },
    { name: 'cut at events', us: leastUs(effort, () => cutter.push(event)) },
  ]
}

/** The minimum that the format requires: two hashes, three derivations, three ciphers, three random draws. */
function bareChat(body: Bytes): () => void {
  const text = joinBytes([body, new Uint8Array(128)])
  const [key, nonce, aad] = [nativeCrypto.random(32), new Uint8Array(12), new Uint8Array(5)]
  const info = new Uint8Array(60)
  const sealed = joinBytes(
    settled(settled(nativeCrypto.aeadKey(key)).seal(nonce, aad, [text])) as Bytes[],
  )
  return () => {
    for (let draw = 0; draw < 3; draw++) nativeCrypto.random(32)
    for (let hash = 0; hash < 2; hash++) void nativeCrypto.sha256(info)
    for (let derived = 0; derived < 3; derived++) void nativeCrypto.expand(key, info)
    const aead = settled(nativeCrypto.aeadKey(key))
    void aead.seal(nonce, aad, [key])
    void aead.seal(nonce, aad, [text])
    void aead.open(nonce, aad, sealed)
  }
}

function bareOpen(text: Bytes): () => void {
  const [key, nonce, aad] = [nativeCrypto.random(32), new Uint8Array(12), new Uint8Array(5)]
  const aead = settled(nativeCrypto.aeadKey(key))
  const sealed = joinBytes(settled(aead.seal(nonce, aad, [text])) as Bytes[])
  return () => void aead.open(nonce, aad, sealed)
}

/** Opening what was sealed above is checked once: a stage that fails would look cheap. */
export async function checkStages(): Promise<void> {
  const body = encode('{"model":"bench"}')
  const request = seal(body)
  const opened = await openRequest(
    nativeCrypto,
    () => session.secret,
    () => {},
    joinBytes(request.first),
  )
  if (opened.body.length !== body.length) throw new Error('the sealed request does not open')
}
