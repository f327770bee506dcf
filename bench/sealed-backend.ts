/**
 * A backend for measuring clients: attests, opens and seals like a worker, and sends a fixed answer at once.
 *
 * Gateway and worker in one process, without keys, limits or an engine, so that what is measured is the client.
 * Prints one line of JSON with what a client needs, then serves until it is stopped. Behind a gateway, it can
 * report signed usage as a worker does.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  formatAttestation,
  formatManifest,
  type ModelListing,
  reportData,
} from '@privatemode/attestation'
import {
  createSoftwareRoot,
  issueSoftwareLeaf,
  produceSoftwareEvidence,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import {
  chunkSink,
  type HttpExchange,
  releaseBehind,
  sendPieces,
  sendResponse,
  serveExchanges,
  serveHttp,
  serveRequest,
} from '@privatemode/http'
import { scanBody } from '@privatemode/protocol/api'
import {
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  joinBytes,
  type OpenedRequest,
  openRequest,
} from '@privatemode/protocol/envelope'
import { sealedMediaType } from '@privatemode/protocol/fleet'
import { readExchange } from '@privatemode/service'
import { endWithParent } from '@privatemode/service/end-with-parent'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { EnginePace, timedPieces } from '../apps/worker/src/sealed/engine-pace.ts'
import { SealKeys } from '../apps/worker/src/sealed/seal-keys.ts'
import { sealShaped } from '../apps/worker/src/sealed/seal-shaped.ts'
import {
  type Outgoing,
  type Sink,
  sealPieces,
  sealWhole,
} from '../apps/worker/src/sealed/seal-stream.ts'
import { fitToPace, shapeOf } from '../apps/worker/src/sealed/traffic-shape.ts'
import { clockUs, models, stampDigits, stampMark } from './load/load-spec.ts'
import { SignedReports } from './signed-reports.ts'

endWithParent()

const { values: options } = parseArgs({
  options: {
    /** Where the manifest is written. */
    manifest: { type: 'string' },
    /** Events of a stream. */
    chunks: { type: 'string', default: '256' },
    /** Milliseconds between two events; 0 sends them as fast as they go. */
    paceMs: { type: 'string', default: '0' },
    /** The gateway that usage is reported to, and its register token. */
    reportTo: { type: 'string' },
    registerToken: { type: 'string', default: '' },
  },
})
const chunks = Number(options.chunks)
const paceMs = Number(options.paceMs)
/** A stream as fast as it goes lets others in after so many events. */
const chunksPerTurn = 8
const stepMsPerStream = 0.15
const workerId = 'w_bench'
const sealedHead = `HTTP/1.1 200 OK\r\ncontent-type: ${sealedMediaType}\r\n`
const maxBodyBytes = 64 * 1024 * 1024
/** Far beyond what any load needs: nothing is refused or closed while a client is measured. */
const limits = {
  ...{ connections: 8192, idleSeconds: 600, headSeconds: 60, stallSeconds: 60 },
  heldBodyBytes: 1024 * 1024 * 1024,
}
const encode = (text: string): Bytes => new TextEncoder().encode(text)

const listed: ModelListing[] = Object.values(models).map((id) => ({
  id,
  digest: `sha256:${'00'.repeat(32)}`,
  tasks: ['generate', 'embed'],
  contextLength: 1_000_000,
  displayName: 'Bench',
  created: 1,
}))
const completion = encode(
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(800) } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
)
const receipt = new Uint8Array(600)
const embeddings = encode(
  JSON.stringify({
    object: 'list',
    data: Array.from({ length: 256 }, (_, index) => ({
      object: 'embedding',
      index,
      embedding: Array.from({ length: 384 }, (_, at) => Math.fround(Math.sin(at + index)) / 2),
    })),
    model: 'bench',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
)
const eventOf = (content: string): Bytes =>
  encode(
    `data: ${JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'bench',
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
    })}\n\n`,
  )
const event = eventOf(`${stampMark}${'0'.repeat(stampDigits)}`)
const eventsOfTurn = joinBytes(Array.from({ length: chunksPerTurn }, () => event))
const done = encode('data: [DONE]\n\n')

const at = new Date()
const root = await createSoftwareRoot({ name: 'bench root', at, days: 2 })
const leaf = await issueSoftwareLeaf(root, { name: 'bench worker', at, days: 1 })
const rootFingerprint = await softwareRootFingerprint(root)
const measurement = new Uint8Array(48)
const keys = new SealKeys(
  {
    workerId,
    receiptKey: new Uint8Array(32),
    models: listed,
    engine: 'none',
    build: 'bench',
  },
  () => new Date(),
)
const key = await keys.current()
const reports =
  options.reportTo === undefined
    ? undefined
    : new SignedReports(options.reportTo, options.registerToken)
const rule = {
  kind: 'software',
  measurements: [Buffer.from(measurement).toString('hex')],
  root: rootFingerprint,
  minimum_tcb: 1,
}
const manifest = formatManifest({
  issuedAt: '2026-01-01T00:00:00Z',
  serial: 1,
  evidence: 'software',
  roles: { worker: { accept: [rule] } },
  models: listed,
})
if (options.manifest !== undefined) writeFileSync(options.manifest, manifest)

const exchanges = serveExchanges(async (exchange) => {
  if (exchange.head.target.endsWith('/sealed')) return answer(exchange)
  return serveRequest(exchange, beside, maxBodyBytes)
}, failed)
const server = serveHttp({
  ...{ hostname: '127.0.0.1', port: 0, tls: undefined, limits },
  ...{ begin: exchanges.begin, refuse: exchanges.refuse },
})
console.log(
  JSON.stringify({
    url: server.url,
    rootFingerprint,
    receiptKey: reports?.receiptKeyBase64,
    pid: process.pid,
  }),
)

/** What clients fetch before their first request, and the counts of reports that the benchmark reads. */
async function beside(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname.endsWith('/reports')) return Response.json(reports?.state)
  if (pathname.endsWith('/directory')) {
    const worker = { id: workerId, models: Object.values(models), seal_key_id: key.id }
    return Response.json({ workers: [worker], models: [] })
  }
  if (pathname.endsWith('/attestation')) return attest(await request.json())
  return new Response(null, { status: 404 })
}

function failed(exchange: HttpExchange, error: unknown): void {
  console.error(error)
  void sendResponse(exchange, new Response(null, { status: 500 }))
}

async function attest(asked: unknown): Promise<Response> {
  const nonce = new Uint8Array(Buffer.from((asked as { nonce: string }).nonce, 'hex'))
  const bound = await reportData({ nonce, statement: key.statement, deviceReports: [] })
  const cpu = await produceSoftwareEvidence(leaf, { measurement, reportData: bound })
  const body = formatAttestation({ statement: key.statement, evidence: { cpu, devices: [] } })
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}

async function answer(exchange: HttpExchange): Promise<void> {
  const bytes = await readExchange(exchange, maxBodyBytes)
  const accept = () => {}
  const noTurn = async () => {}
  const opened = await openRequest(nativeCrypto, keys.findSecret, accept, bytes, noTurn, bytes)
  const { stream, model } = scanBody(opened.body)
  releaseBehind(opened.body)
  const type = stream ? 'text/event-stream; charset=utf-8' : 'application/json'
  const out: Outgoing = {
    sealer: await opened.sealAnswer(),
    head: { status: 200, headers: { 'content-type': type } },
    finish: () => reports?.issue(exchange.head.fields, workerId) ?? receipt,
  }
  if (!stream) {
    const body = opened.context.path.endsWith('/embeddings') ? embeddings : completion
    const whole = await sealWhole(out, body, shapeOf(opened.head.shape).whole)
    return sendPieces(exchange, sealedHead, whole)
  }
  const sink = chunkSink(exchange, sealedHead)
  if (model === models.steady) return sealInSteps(out, sink)
  const between = paceMs > 0 || model === models.paced ? paceMs || 20 : 0
  return sealStream(opened, out, events(between), sink)
}

const pace = new EnginePace()

/** Cut and padded by the worker's own code, in the shape that the client asks for, fitted to the pace of earlier streams. */
async function sealStream(
  opened: OpenedRequest,
  out: Outgoing,
  pieces: AsyncIterable<Bytes>,
  sink: Sink,
): Promise<void> {
  const shape = shapeOf(opened.head.shape).stream
  const { model } = opened.context
  const noted = (ms: number) => pace.note(model, chunks, ms)
  const timed = timedPieces(pieces, performance.now(), () => {}, noted)
  if (shape === undefined) await sealPieces(out, timed, sink)
  else await sealShaped(out, timed, fitToPace(shape, pace.msPerToken(model)), sink)
}

/** Streams that are sent in steps, and the step that all of them wait for. */
let inStep = 0
let nextStep: Promise<void> | undefined
/** Longer than proxy and client need for a frame of each stream: no two frames of one are read together. */
const stepMs = () => Math.max(1, inStep * stepMsPerStream)

function untilStep(): Promise<void> {
  nextStep ??= Bun.sleep(stepMs()).then(() => {
    nextStep = undefined
  })
  return nextStep
}

/**
 * The same frames however many streams there are, one of each stream in a step. The worker lets
 * events that come within a millisecond share a frame, so of a lone stream in a hurry it makes a
 * few, and of one among a thousand, whose events are further apart, many: its cost would grow by
 * what comes, not by what else is there.
 */
async function sealInSteps(out: Outgoing, sink: Sink): Promise<void> {
  inStep++
  try {
    await sink([out.sealer.prelude, await out.sealer.seal(headRecord(out.head), false)])
    for (let sent = 0; sent < chunks; sent += chunksPerTurn) {
      await untilStep()
      await sink([await out.sealer.seal(dataRecord(eventsOfTurn), false)])
    }
    await sink([await out.sealer.seal(endRecord(out.finish()), true)], true)
  } finally {
    inStep--
  }
}

async function* events(betweenMs: number): AsyncGenerator<Bytes> {
  const startMs = performance.now()
  for (let index = 0; index < chunks; index++) {
    if (betweenMs === 0) {
      yield event
      if (index % chunksPerTurn === chunksPerTurn - 1) await new Promise(setImmediate)
      continue
    }
    yield eventOf(`${stampMark}${String(clockUs()).padStart(stampDigits, '0')}`)
    await Bun.sleep(Math.max(0, startMs + (index + 1) * betweenMs - performance.now()))
  }
  yield done
}
