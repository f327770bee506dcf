/** The worker refuses requests that a gateway changes, repeats or misdirects. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import type { Sealed } from './hostile-gateway.ts'
import { codeOf, collect, respond, startHostileWorld } from './hostile-world.ts'

const world = await startHostileWorld()
const { system, gateway, engines, newClient, warmClient, ask } = world
afterAll(world.stop, 90_000)
afterEach(() => gateway.play({}))

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

  test('delays a request until it is stale', async () => {
    // The client's clock simulates the delay: its request arrives 130 s later.
    const client = newClient({ now: () => new Date(Date.now() - 130_000) })
    expect(await codeOf(ask(client))).toBe('stale_request')
  })

  test('sends a request to a worker that it was not sealed to', async () => {
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
