/** A worker for tests: real HTTP, scripted answers, no secrets. */
import type { Tls } from '@privatemode/http'
import type { ModelObject } from '@privatemode/protocol/api'
import { formatModel } from '@privatemode/protocol/api'

export type Seen = { readonly path: string; readonly headers: Headers; readonly body: Uint8Array }

export type ScriptedWorker = {
  readonly id: string
  readonly url: string
  readonly seen: Seen[]
  readonly registration: Record<string, unknown>
  /** Answers the next sealed requests. */
  answer: (request: Request, body: Uint8Array) => Response | Promise<Response>
  /** Answers requests for evidence. */
  attest: (body: string) => Response | Promise<Response>
  stop(): Promise<void>
}

export const sealedHeaders = { 'content-type': 'application/privatemode-sealed' }

export const testModel: ModelObject = formatModel({
  id: 'test-model',
  created: 1_760_000_000,
  displayName: 'Test model',
  tasks: ['generate'],
  contextLength: 2048,
})

/** The registration of a worker with one model. */
export function registrationFields(url: string, receiptKey = new Uint8Array(32)) {
  return {
    url,
    models: [testModel],
    seal_key_id: 'ab'.repeat(16),
    receipt_key: Buffer.from(receiptKey).toString('base64'),
    relay_key: Buffer.alloc(32, 7).toString('base64'),
    capacity: 4,
    active: 0,
    draining: false,
  }
}

export function scriptedWorker(
  id: string,
  receiptKey = new Uint8Array(32),
  tls?: Tls,
): ScriptedWorker {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(tls === undefined ? {} : { tls: { cert: tls.certPem, key: tls.keyPem } }),
    async fetch(request) {
      const body = await request.bytes()
      const path = new URL(request.url).pathname
      seen.push({ path, headers: request.headers, body })
      if (path === '/privatemode/v1/attestation') {
        return worker.attest(new TextDecoder().decode(body))
      }
      return worker.answer(request, body)
    },
  })
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${server.port}`
  const worker: ScriptedWorker = {
    id,
    url,
    seen,
    registration: registrationFields(url, receiptKey),
    answer: (_request, body) =>
      new Response(`${id} answers ${new TextDecoder().decode(body)}`, { headers: sealedHeaders }),
    attest: (body) => new Response(`evidence for ${body}`),
    stop: () => server.stop(true),
  }
  return worker
}
