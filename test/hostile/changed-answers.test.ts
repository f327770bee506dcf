/** The client detects answers that a gateway changes, swaps or forges. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { cutFrames } from './hostile-gateway.ts'
import { codeOf, collect, respond, startHostileWorld } from './hostile-world.ts'

const world = await startHostileWorld()
const { system, gateway, newClient, warmClient, ask } = world
afterAll(world.stop, 90_000)
afterEach(() => gateway.play({}))

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

  test('redirects the client elsewhere', async () => {
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
  }, 240_000)
})
