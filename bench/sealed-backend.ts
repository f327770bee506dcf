/**
 * A backend for measuring clients: attests, opens and seals like a worker, and says a fixed answer at once.
 *
 * Gateway and worker in one process, without keys, quotas or an engine, so that what is measured is the client.
 * Prints one line of JSON with what a client needs, then serves until it is ended.
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
import { scanBody } from '@privatemode/protocol/api'
import {
  type AnswerSealer,
  type Bytes,
  dataRecord,
  endRecord,
  headRecord,
  joinBytes,
  openRequest,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { SealKeys } from '../apps/worker/src/sealed/seal-keys.ts'

const { values: options } = parseArgs({
  options: {
    /** Where the manifest is written. */
    manifest: { type: 'string' },
    /** Events of a stream. */
    chunks: { type: 'string', default: '256' },
    /** Milliseconds between two events; 0 sends them as fast as they go. */
    paceMs: { type: 'string', default: '0' },
  },
})
const chunks = Number(options.chunks)
const paceMs = Number(options.paceMs)
const sealedType = { 'content-type': 'application/privatemode-sealed' }
const encode = (text: string): Bytes => new TextEncoder().encode(text)

const model: ModelListing = {
  id: 'bench',
  digest: `sha256:${'00'.repeat(32)}`,
  tasks: ['generate'],
  contextLength: 1_000_000,
  displayName: 'Bench',
  created: 1,
}
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
const event = encode(
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta: { content: ' token' }, finish_reason: null }],
  })}\n\n`,
)
const done = encode('data: [DONE]\n\n')

const at = new Date()
const root = await createSoftwareRoot({ name: 'bench root', at, days: 2 })
const leaf = await issueSoftwareLeaf(root, { name: 'bench worker', at, days: 1 })
const rootFingerprint = await softwareRootFingerprint(root)
const measurement = new Uint8Array(48)
const keys = new SealKeys(
  {
    workerId: 'w_bench',
    receiptKey: new Uint8Array(32),
    models: [model],
    engine: 'none',
    build: 'bench',
  },
  () => new Date(),
)
const key = await keys.current()
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
  models: [model],
})
if (options.manifest !== undefined) writeFileSync(options.manifest, manifest)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/sealed')) return answer(new Uint8Array(await request.arrayBuffer()))
    if (pathname.endsWith('/directory')) {
      const worker = { id: 'w_bench', models: ['bench'], seal_key_id: key.id }
      return Response.json({ workers: [worker], models: [] })
    }
    if (pathname.endsWith('/attestation')) return attest(await request.json())
    return new Response(null, { status: 404 })
  },
})
console.log(
  JSON.stringify({ url: `http://127.0.0.1:${server.port}`, rootFingerprint, pid: process.pid }),
)

async function attest(asked: unknown): Promise<Response> {
  const nonce = new Uint8Array(Buffer.from((asked as { nonce: string }).nonce, 'hex'))
  const bound = await reportData({ nonce, statement: key.statement, deviceReports: [] })
  const cpu = await produceSoftwareEvidence(leaf, { measurement, reportData: bound })
  const body = formatAttestation({ statement: key.statement, evidence: { cpu, devices: [] } })
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}

async function answer(bytes: Bytes): Promise<Response> {
  const opened = await openRequest(nativeCrypto, keys.findSecret, () => {}, bytes)
  const sealer = await opened.sealAnswer()
  const { stream } = scanBody(opened.body)
  const type = stream ? 'text/event-stream; charset=utf-8' : 'application/json'
  const head = headRecord({ status: 200, headers: { 'content-type': type } })
  if (stream) return new Response(sealStream(sealer, head), { headers: sealedType })
  const records = [...head, ...dataRecord(completion), ...endRecord(new Uint8Array(600))]
  const frame = await sealer.seal(records, true, 2048)
  return new Response(joinBytes([sealer.prelude, frame]), { headers: sealedType })
}

function sealStream(sealer: AnswerSealer, head: Bytes[]): ReadableStream<Bytes> {
  return new ReadableStream<Bytes>({
    type: 'direct',
    async pull(controller) {
      await controller.write(joinBytes([sealer.prelude, await sealer.seal(head, false)]))
      for (let index = 0; index < chunks; index++) {
        await controller.write(await sealer.seal(dataRecord(event), false))
        await controller.flush()
        if (paceMs > 0) await Bun.sleep(paceMs)
      }
      const end = [...dataRecord(done), ...endRecord(new Uint8Array(600))]
      await controller.write(await sealer.seal(end, true))
      controller.close()
    },
  })
}
