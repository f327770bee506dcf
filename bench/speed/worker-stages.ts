/** What the stages of a small chat cost the worker, whose model server sends 256 chunks. */
import type { Engine, EngineModel } from '@privatemode/inference'
import {
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  joinBytes,
  openRequest,
  type UsageRecord,
} from '@privatemode/protocol/envelope'
import { relayHeaders } from '@privatemode/protocol/fleet'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { signRelay } from '../../apps/gateway/src/relay/sign-relay.ts'
import { RelayGuard } from '../../apps/worker/src/relay/accept-relay.ts'
import { RelayKeys } from '../../apps/worker/src/relay/relay-keys.ts'
import { ReceiptSigner } from '../../apps/worker/src/sealed/receipts.ts'
import { engineBody } from '../../packages/inference/src/dialects/openai/chat.ts'
import { normalizeChat } from '../../packages/inference/src/dialects/openai/chat-answer.ts'
import { checkChat } from '../../packages/inference/src/dialects/openai/check-chat.ts'
import { parseBody } from '../../packages/inference/src/dialects/parse-body.ts'
import { UsageMeter } from '../../packages/inference/src/dialects/usage-meter.ts'
import { formatPieces } from '../../packages/inference/src/long-text.ts'
import { connectHttpEngine } from '../../packages/inference/src/servers/http-engine.ts'
import type {
  ServerAnswer,
  ServerFetch,
} from '../../packages/inference/src/servers/server-client.ts'
import { serverBody } from '../../packages/inference/src/servers/server-kinds.ts'
import { requestBody, streamChunks } from '../load/load-spec.ts'
import { type Effort, leastUs, leastUsLater, type Stage, settled } from './least-us.ts'
import { seal, session } from './sample-request.ts'

const path = '/v1/chat/completions'
const model: EngineModel = {
  ...{ id: 'bench', tasks: ['generate'], digest: '', contextLength: 16_000_000 },
  ...{ displayName: 'bench', created: 1, vision: false },
}
const record: UsageRecord = {
  ...{ version: 2, admission: 'a'.repeat(64), request_id: 'ab'.repeat(16), worker_id: 'w_bench' },
  ...{ key_ref: 'key_bench', model: model.id, path, status: 200, outcome: 'complete' },
  ...{ prompt_tokens: 256, cached_tokens: 0, completion_tokens: streamChunks },
  ...{ started_at: 1_763_000_000_000, duration_ms: 12 },
}

export async function measureWorker(effort: Effort, tripUs: number): Promise<readonly Stage[]> {
  const body = new TextEncoder().encode(requestBody({ kind: 'chat', bodyBytes: 1024 }))
  const sealed = joinBytes(seal(body).first)
  const signer = new ReceiptSigner()
  const digest = 'ab'.repeat(32)
  const digests = { request_digest: digest, response_digest: digest, statement_digest: digest }
  const receipt = signer.sign(record, digests).receipt
  const engine = await connectedEngine()
  const few = { tries: effort.tries, calls: Math.max(1, Math.floor(effort.calls / 8)) }
  const answer = await complete(engine)
  const text = new TextEncoder().encode(JSON.stringify(answer))
  const stages = [
    { name: 'sockets: two reads, two writes', us: tripUs },
    { name: 'check the relay', us: relayUs(effort, sealed) },
    {
      name: 'open the request',
      us: leastUs(effort, () =>
        settled(
          openRequest(
            nativeCrypto,
            () => session.secret,
            () => {},
            sealed,
          ),
        ),
      ),
    },
    {
      name: 'scan, parse and check the body',
      us: leastUs(effort, () => checkChat(parseBody(body), model, false)),
    },
    { name: "write the server's request", us: leastUs(effort, writeRequest(body)) },
    {
      name: `call the server, read ${streamChunks} chunks, join them`,
      us: await leastUsLater(few, () => complete(engine)),
    },
    {
      name: 'write the answer',
      us: leastUs(effort, () =>
        JSON.stringify(normalizeChat(structuredAnswer(answer), model.id, new UsageMeter(), false)),
      ),
    },
    { name: 'hash and seal the answer', us: leastUs(effort, sealAnswer(text, receipt)) },
    { name: 'sign the receipt', us: leastUs(effort, () => signer.sign(record, digests)) },
  ]
  await engine.close()
  return stages
}

/** A relay is accepted once only: what signing it costs is taken off. */
function relayUs(effort: Effort, sealed: Bytes): number {
  const keys = new RelayKeys()
  const guard = new RelayGuard('w_bench', keys, () => new Date())
  const key = keys.current()
  let count = 0
  const signed = () => {
    const requestId = (count++).toString(16).padStart(32, '0')
    const [sentAtMs, lengthBytes] = [Date.now(), sealed.length]
    const ids = {
      requestId,
      model: model.id,
      path,
      keyRef: 'key_bench',
      admission: record.admission,
    }
    const mac = signRelay(key, { ...ids, workerId: 'w_bench', sentAtMs, lengthBytes })
    const named = { ...ids, sentAt: String(sentAtMs), mac }
    const headers = new Headers({ 'content-length': String(lengthBytes) })
    for (const name of Object.keys(named) as (keyof typeof named)[])
      headers.set(relayHeaders[name], named[name])
    return headers
  }
  const both = leastUs(effort, () => guard.accept(signed()))
  return Math.max(0, both - leastUs(effort, signed))
}

function writeRequest(body: Bytes): () => unknown {
  const parsed = parseBody(body)
  const signal = new AbortController().signal
  const exchange = { model, cacheSalt: 's'.repeat(64), stream: false }
  return () => {
    const asked = engineBody(exchange, parsed)
    return formatPieces(
      serverBody('vllm', { endpoint: 'chat', body: asked, stream: true, signal } as never),
    )
  }
}

function sealAnswer(text: Bytes, receipt: Bytes): () => unknown {
  const request = seal(new TextEncoder().encode('{"model":"bench"}'))
  const opened = settled(
    openRequest(
      nativeCrypto,
      () => session.secret,
      () => {},
      joinBytes(request.first),
    ),
  )
  const head = { status: 200, headers: { 'content-type': 'application/json' } }
  return () => {
    void nativeCrypto.sha256(text)
    const sealer = settled(opened.sealAnswer())
    const records = [...headRecord(head), ...dataRecord(text), ...endRecord(receipt)]
    return settled(sealer.seal(records, true, 8192))
  }
}

async function complete(engine: Engine): Promise<Record<string, unknown>> {
  const body = {
    ...{ model: model.id, messages: [{ role: 'user', content: 'x' }], cache_salt: 's'.repeat(64) },
  }
  const { signal } = new AbortController()
  const answer = await engine.call({ endpoint: 'chat', body, stream: false, signal })
  if (answer.kind !== 'complete') throw new Error('the engine streamed unasked')
  return answer.body
}

/** Normalising modifies an answer: each gets its own. */
function structuredAnswer(answer: Record<string, unknown>): Record<string, unknown> {
  const [choice] = answer.choices as Record<string, object>[]
  return { ...answer, choices: [{ ...choice, message: { ...choice?.message } }] }
}

/** An engine whose server answers from memory, without sockets. */
function connectedEngine(): Promise<Engine> {
  const stream = Buffer.from(streamText())
  const serverFetch: ServerFetch = (url, asked) => {
    const { pathname } = new URL(url)
    if (pathname === '/v1/models')
      return Promise.resolve(
        jsonAnswer({ data: [{ id: 'bench', owned_by: 'vllm', max_model_len: 4096 }] }),
      )
    if (pathname === '/version') return Promise.resolve(jsonAnswer({ version: '0.27.0' }))
    if (pathname !== path) return Promise.resolve({ ...jsonAnswer({}), ok: false, status: 404 })
    const isStream = asked.body?.includes('"stream":true') === true
    return Promise.resolve(isStream ? streamAnswer(stream) : jsonAnswer({ choices: [] }))
  }
  const settings = { baseUrl: 'http://bench', acceptSharedCache: true }
  return connectHttpEngine(settings, { fetch: serverFetch, now: () => new Date() })
}

function jsonAnswer(value: unknown): ServerAnswer {
  const text = () => Promise.resolve(JSON.stringify(value))
  return { ok: true, status: 200, text, json: () => Promise.resolve(value), body: null }
}

function streamAnswer(bytes: Uint8Array): ServerAnswer {
  let isRead = false
  const cancel = () => Promise.resolve()
  const reader = {
    cancel,
    read: () => {
      const value = isRead ? undefined : bytes
      isRead = true
      return Promise.resolve({ done: value === undefined, value })
    },
  }
  return { ...jsonAnswer({}), body: { getReader: () => reader, cancel } }
}

/** As vLLM writes it, with counts in every chunk. */
function streamText(): string {
  const same = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'bench' }
  const usageOf = (sent: number) => ({
    ...{ prompt_tokens: 256, total_tokens: 256 + sent, completion_tokens: sent },
  })
  const event = (choices: unknown[], sent: number) =>
    `data: ${JSON.stringify({ ...same, choices, usage: usageOf(sent) })}\n\n`
  const chunks = Array.from({ length: streamChunks }, (_, at) =>
    event([{ index: 0, delta: { content: '@@0000000000000000' }, finish_reason: null }], at + 1),
  )
  const end = event([{ index: 0, delta: {}, finish_reason: 'stop' }], streamChunks)
  return [...chunks, end, event([], streamChunks), 'data: [DONE]\n\n'].join('')
}
