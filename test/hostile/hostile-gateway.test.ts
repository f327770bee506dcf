import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { formatAttestation, parseAttestation, reportData } from '@privatemode/attestation'
import {
  createSoftwareRoot,
  issueSoftwareLeaf,
  produceSoftwareEvidence,
} from '@privatemode/attestation/software/producer'
import type { PrivateClient } from '@privatemode/sdk'
import { ScriptedEngine } from '../../apps/worker/src/testing/scripted-engine.ts'
import { startSystem } from '../e2e/system.ts'
import { cutFrames, type Sealed, startHostileGateway } from './hostile-gateway.ts'

const deltas = ['Once ', 'upon ', 'a time'].map((content) => ({ content }))
const engines = [new ScriptedEngine({ deltas }), new ScriptedEngine({ deltas })]
const system = await startSystem({ engines })
const gateway = startHostileGateway(system.gatewayUrl)
afterAll(async () => {
  await gateway.stop()
  await system.stop()
}, 90_000)
afterEach(() => gateway.play({}))

const sealedType = { 'content-type': 'application/privatemode-sealed' }
const newClient = (over = {}) => system.client({ endpoint: gateway.url, retryBudgetMs: 0, ...over })

const body = (stream: boolean) =>
  new TextEncoder().encode(
    JSON.stringify({ model: 'org/chat-1', messages: [{ role: 'user', content: 'hi' }], stream }),
  )

async function ask(client: PrivateClient, stream = true): Promise<string> {
  const answer = await client.exchange({
    path: '/v1/chat/completions',
    model: 'org/chat-1',
    body: body(stream),
    stream,
    apiKey: system.apiKey,
  })
  return new TextDecoder().decode(await answer.whole())
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: { code?: string }) => error.code ?? String(error),
  )

/** A client that trusts the workers already; the trick is played on its next call. */
async function warmClient(over = {}): Promise<PrivateClient> {
  const client = newClient(over)
  expect(await ask(client)).toContain('time')
  return client
}

const collect = async (response: Response) => new Uint8Array(await response.arrayBuffer())
const respond = (bytes: Uint8Array<ArrayBuffer> | string | ReadableStream) =>
  new Response(bytes, { headers: sealedType })

describe('a hostile gateway that changes answers', () => {
  const changes: [string, (frames: Uint8Array<ArrayBuffer>[]) => Uint8Array[], string][] = [
    ['cuts the last frame', (frames) => frames.slice(0, -1), 'worker_unreachable'],
    [
      'cuts inside a frame',
      (frames) => [...frames.slice(0, -1), frames.at(-1)!.subarray(0, 30)],
      'worker_unreachable',
    ],
    [
      'swaps two frames',
      ([p, a, b, c, ...rest]) => [p!, a!, c!, b!, ...rest],
      'response_not_authentic',
    ],
    [
      'repeats a frame',
      ([p, a, b, ...rest]) => [p!, a!, b!, b!, ...rest],
      'response_not_authentic',
    ],
    ['drops a frame', ([p, a, _b, ...rest]) => [p!, a!, ...rest], 'response_not_authentic'],
    [
      'appends bytes',
      (frames) => [...frames, Uint8Array.of(0, 0, 0, 16, 0)],
      'response_not_authentic',
    ],
    [
      'marks a frame as the last',
      ([p, a, b]) => [p!, a!, Uint8Array.from(b!, (x, i) => (i === 4 ? 1 : x))],
      'response_not_authentic',
    ],
    [
      'flips one bit',
      ([p, a, b, ...rest]) => [
        p!,
        a!,
        Uint8Array.from(b!, (x, i) => (i === 9 ? x ^ 4 : x)),
        ...rest,
      ],
      'response_not_authentic',
    ],
    [
      'changes the salt',
      ([p, ...rest]) => [Uint8Array.from(p!, (x, i) => (i === 30 ? x ^ 1 : x)), ...rest],
      'response_not_authentic',
    ],
    [
      'names another worker',
      ([p, ...rest]) => [Uint8Array.from(p!, (x, i) => (i === 6 ? x ^ 1 : x)), ...rest],
      'response_not_authentic',
    ],
  ]
  test.each(changes)('%s', async (_name, change, code) => {
    const client = await warmClient()
    gateway.play({
      sealed: async (request, forward) => {
        const frames = cutFrames(await collect(await forward(request)))
        return respond(Buffer.concat(change(frames)))
      },
    })
    expect(await codeOf(ask(client))).toBe(code)
  })

  test('replays the answer to an earlier request', async () => {
    const client = await warmClient()
    let earlier: Uint8Array<ArrayBuffer> | undefined
    gateway.play({
      sealed: async (request, forward) => {
        const answer = await collect(await forward(request))
        const played = earlier ?? answer
        earlier ??= answer
        return respond(played)
      },
    })
    expect(await ask(client)).toContain('time')
    expect(await codeOf(ask(client))).toBe('response_not_authentic')
  })

  test('splices frames of two answers', async () => {
    const client = await warmClient()
    let first: Uint8Array<ArrayBuffer>[] | undefined
    gateway.play({
      sealed: async (request, forward) => {
        const frames = cutFrames(await collect(await forward(request)))
        first ??= frames
        return respond(Buffer.concat([frames[0]!, frames[1]!, ...first.slice(2)]))
      },
    })
    await ask(client)
    expect(await codeOf(ask(client))).toBe('response_not_authentic')
  })

  test('reflects the request as its answer', async () => {
    const client = await warmClient()
    gateway.play({ sealed: async ({ body: bytes }) => respond(bytes) })
    expect(await codeOf(ask(client))).toBe('response_not_authentic')
  })

  test('answers in clear text, as JSON and under the sealed content type', async () => {
    const client = await warmClient()
    const forged = JSON.stringify({
      choices: [{ message: { role: 'assistant', content: 'trust me' } }],
    })
    gateway.play({ sealed: async () => Response.json(JSON.parse(forged)) })
    expect(await codeOf(ask(client, false))).toBe('upstream_error')
    gateway.play({ sealed: async () => respond(forged) })
    expect(await codeOf(ask(client, false))).toBe('response_not_authentic')
  })

  test('sends the client elsewhere with a redirect', async () => {
    const client = await warmClient()
    let followed = false
    const elsewhere = Bun.serve({
      port: 0,
      fetch: () => {
        followed = true
        return new Response()
      },
    })
    gateway.play({
      sealed: async () => Response.redirect(`http://127.0.0.1:${elsewhere.port}/`, 307),
    })
    expect(await codeOf(ask(client))).toBe('upstream_error')
    expect(followed).toBe(false)
    await elsewhere.stop(true)
  })

  test('floods the client with bytes', async () => {
    const client = await warmClient()
    let sent = 0
    const flood = () =>
      new ReadableStream({
        async pull(controller) {
          sent += 1 << 20
          controller.enqueue(new Uint8Array(1 << 20).fill(7))
          await Bun.sleep(0)
        },
      })
    gateway.play({ sealed: async () => respond(flood()) })
    expect(await codeOf(ask(client))).toBe('response_not_authentic')
    gateway.play({ sealed: async () => new Response(flood(), { status: 500 }) })
    expect(await codeOf(ask(client))).toBe('upstream_error')
    gateway.play({ attestation: async () => new Response(flood()) })
    expect(await codeOf(newClient().ready(system.apiKey))).toBe('upstream_error')
    expect(sent).toBeLessThan(100 << 20)
  }, 90_000)
})

describe('a hostile gateway that changes requests', () => {
  test('sends a request a second time', async () => {
    const client = await warmClient()
    let second = ''
    gateway.play({
      sealed: async (request, forward) => {
        const answer = await collect(await forward(request))
        second = await (await forward(request)).text()
        return respond(answer)
      },
    })
    const before = engines.reduce((sum, engine) => sum + engine.calls.length, 0)
    expect(await ask(client)).toContain('time')
    expect(second).toContain('"code":"replayed"')
    expect(engines.reduce((sum, engine) => sum + engine.calls.length, 0)).toBe(before + 1)
  })

  const rewrites: [string, (request: Sealed) => void, string][] = [
    [
      'meters another model',
      ({ headers }) => {
        headers['privatemode-model'] = 'embed'
      },
      'malformed',
    ],
    [
      'meters another endpoint',
      ({ headers }) => {
        headers['privatemode-path'] = '/v1/embeddings'
      },
      'malformed',
    ],
    [
      'changes the request id',
      ({ headers }) => {
        headers['privatemode-request-id'] = '00'.repeat(16)
      },
      'malformed',
    ],
    [
      'flips a bit of the request',
      ({ body: bytes }) => {
        bytes[bytes.length - 40]! ^= 1
      },
      'malformed',
    ],
    [
      'cuts the request',
      (request) => {
        request.body = request.body.slice(0, -30)
      },
      'malformed',
    ],
  ]
  test.each(rewrites)('%s', async (_name, rewrite, code) => {
    const client = await warmClient()
    gateway.play({
      sealed: (request, forward) => {
        rewrite(request)
        return forward(request)
      },
    })
    expect(await codeOf(ask(client))).toBe(code)
  })

  test('holds a request back until it is old', async () => {
    // The client's clock stands for the time that passed: its request arrives 130 s later.
    const client = newClient({ now: () => new Date(Date.now() - 130_000) })
    expect(await codeOf(ask(client))).toBe('stale_request')
  })

  test('sends a request to a worker that it was not sealed for', async () => {
    const client = newClient({ candidates: 1 })
    await ask(client)
    gateway.play({
      sealed: (request, forward) => {
        const asked = request.headers['privatemode-workers']
        const other = system.workers.find(({ workerId }) => workerId !== asked)
        request.headers['privatemode-workers'] = other?.workerId ?? ''
        return forward(request)
      },
    })
    expect(await codeOf(ask(client))).toBe('unknown_key')
  })
})

describe('a hostile gateway that lies about workers', () => {
  const attest = (workerId: string, nonce: string) =>
    fetch(`${system.gatewayUrl}/privatemode/v1/workers/${workerId}/attestation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ nonce }),
    })

  test('passes one worker off as another', async () => {
    const [first] = system.workers
    gateway.play({
      directory: ({ workers, models }) => ({
        workers: workers.map((worker) => ({ ...worker, id: 'w_impostor' })).slice(0, 1),
        models,
      }),
      attestation: (_id, nonce) => attest(first!.workerId, nonce),
    })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('replays evidence that was made for another nonce', async () => {
    const recorded = await (await attest(system.workers[0]!.workerId, 'ab'.repeat(32))).text()
    gateway.play({ attestation: async () => new Response(recorded) })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('puts a statement with its own key under genuine evidence', async () => {
    gateway.play({
      attestation: async (id, nonce) => {
        const bytes = new Uint8Array(await (await attest(id, nonce)).arrayBuffer())
        const { statement, evidence } = parseAttestation(bytes)
        const text = new TextDecoder().decode(statement).replace('"engine":"', '"engine":"evil ')
        const forged = { statement: new TextEncoder().encode(text), evidence }
        return new Response(formatAttestation(forged))
      },
    })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('attests with a root of its own', async () => {
    const at = new Date()
    const root = await createSoftwareRoot({ name: 'test root', at, days: 2 })
    const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at, days: 1 })
    gateway.play({
      attestation: async (id, nonce) => {
        const bytes = new Uint8Array(await (await attest(id, nonce)).arrayBuffer())
        const { statement } = parseAttestation(bytes)
        const nonceBytes = new Uint8Array(Buffer.from(nonce, 'hex'))
        const bound = await reportData({ nonce: nonceBytes, statement, deviceReports: [] })
        const measurement = new Uint8Array(Buffer.from(system.measurement, 'hex'))
        const cpu = await produceSoftwareEvidence(leaf, { measurement, reportData: bound })
        return new Response(formatAttestation({ statement, evidence: { cpu, devices: [] } }))
      },
    })
    expect(await codeOf(ask(newClient()))).toBe('attestation_refused')
  })

  test('invents models, which nobody is shown', async () => {
    gateway.play({
      directory: ({ workers, models }) => ({
        workers: workers.map((worker) => ({ ...worker, models: [...worker.models, 'gpt-9'] })),
        models: [...models, { id: 'gpt-9' }],
      }),
    })
    const client = newClient()
    const shown = await client.models(system.apiKey)
    expect(shown.map(({ id }) => id)).not.toContain('gpt-9')
    expect(shown.map(({ id }) => id)).toContain('org/chat-1')
  })

  test('lists no worker at all, which is an error and no answer', async () => {
    gateway.play({ directory: () => ({ workers: [], models: [] }) })
    expect(await codeOf(ask(newClient()))).toBe('no_worker')
  })
})
