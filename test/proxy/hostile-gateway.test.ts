/** A gateway under an attacker's control: changes are detected, inventions are never accepted as answers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { shortShapes } from '../shape/short-shapes.ts'
import { type ProxyProcess, startProxy } from './proxy-process.ts'
import {
  chat,
  chatPath,
  errorOf,
  post,
  type ScriptedSystem,
  startScriptedSystem,
  story,
} from './scripted-system.ts'

type Tamper = (sealed: Buffer) => Response | Promise<Response>

const sealedType = { 'content-type': 'application/privatemode-sealed' }
const honest: Tamper = (sealed) => new Response(new Uint8Array(sealed), { headers: sealedType })
const last: { sealed: Buffer | undefined } = { sealed: undefined }

let scripted: ScriptedSystem
let gateway: Bun.Server<undefined>
let proxy: ProxyProcess
let tamper: Tamper = honest
let asked = 0

/** Relays everything to the real gateway and lets `tamper` answer in place of a sealed answer. */
async function relay(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  const headers = new Headers(request.headers)
  headers.delete('host')
  const body = request.method === 'POST' ? await request.arrayBuffer() : null
  const real = await fetch(scripted.system.gatewayUrl + pathname, {
    method: request.method,
    headers,
    body,
  })
  const bytes = Buffer.from(await real.arrayBuffer())
  if (!pathname.endsWith('/sealed')) return new Response(bytes, { status: real.status })
  asked++
  const answer = await tamper(bytes)
  last.sealed = bytes
  return answer
}

beforeAll(async () => {
  scripted = await startScriptedSystem({ shapeOf: shortShapes })
  gateway = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: relay, development: false })
  const endpoint = ['--apiEndpoint', `http://127.0.0.1:${gateway.port}`]
  proxy = await startProxy(scripted.system, {
    args: [...endpoint, '--apiKey', scripted.system.apiKey, '--answerSilenceSeconds', '5'],
  })
}, 150_000)

afterAll(async () => {
  await proxy.stop()
  await gateway.stop(true)
  await scripted.system.stop()
}, 240_000)

async function ask(
  trick: Tamper,
  stream: boolean,
): Promise<{ status: number; text: string; tries: number }> {
  tamper = trick
  asked = 0
  const response = await post(proxy, chatPath, chat({ stream }))
  const text = await response.text()
  tamper = honest
  return { status: response.status, text, tries: asked }
}

const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

test('an honest relay is answered', async () => {
  expect((await ask(honest, false)).text).toContain(story)
  expect((await ask(honest, true)).text).toEndWith('data: [DONE]\n\n')
})

describe('an answer that was changed', () => {
  test.each([false, true])(
    'by one bit in its last frame is an error (stream: %p)',
    async (stream) => {
      const { status, text } = await ask(
        (sealed) => honest(flipped(sealed, sealed.length - 20)),
        stream,
      )
      expect(text).toContain('response_not_authentic')
      expect(text).not.toContain('[DONE]')
      // What came in one piece with the change was not begun yet.
      expect([502, stream ? 200 : 502]).toContain(status)
    },
  )

  test('by one bit in its first frame is a 502, streamed or not', async () => {
    for (const stream of [false, true]) {
      const { status, text } = await ask((sealed) => honest(flipped(sealed, 80)), stream)
      expect(status).toBe(502)
      expect(text).toContain('response_not_authentic')
    }
  })

  test.each([false, true])(
    'by cutting its end off is a loss, never a short answer (stream: %p)',
    async (stream) => {
      const { text } = await ask((sealed) => honest(sealed.subarray(0, sealed.length - 30)), stream)
      expect(text).toContain('worker_unreachable')
      expect(text).not.toContain('[DONE]')
    },
  )

  test('by bytes behind its end is an error', async () => {
    const { status } = await ask(
      (sealed) => honest(Buffer.concat([sealed, Buffer.alloc(40)])),
      false,
    )
    expect(status).toBe(502)
  })

  test('by the answer to an earlier request is an error', async () => {
    await ask(honest, false)
    const earlier = last.sealed ?? Buffer.alloc(0)
    const { status, text } = await ask(() => honest(earlier), false)
    expect(status).toBe(502)
    expect(text).toContain('response_not_authentic')
  })
})

describe('an answer whose end arrives together with forged padding', () => {
  let changeLast = (frame: Buffer): Buffer => frame
  let framed: Bun.TCPSocketListener<{ received: Buffer }>
  let behind: ProxyProcess

  /** Relays one request; a sealed answer comes as two chunks in one write, the last frame by itself. */
  async function serve(socket: Bun.Socket<{ received: Buffer }>, bytes: Buffer): Promise<void> {
    const received = Buffer.concat([socket.data.received, bytes])
    socket.data.received = received
    const headEnd = received.indexOf('\r\n\r\n')
    const [start = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]))
    const bodyStart = headEnd + 4
    const bodyEnd = bodyStart + Number(headers.get('content-length') ?? 0)
    if (headEnd < 0 || received.length < bodyEnd) return
    const [method = '', path = ''] = start.split(' ')
    const body = method === 'POST' ? received.subarray(bodyStart, bodyEnd) : null
    const answer = await relay(new Request(`http://gateway${path}`, { method, headers, body }))
    const whole = Buffer.from(await answer.arrayBuffer())
    const cut = path.endsWith('/sealed') ? startOfLastFrame(whole) : whole.length
    const parts = [whole.subarray(0, cut), changeLast(whole.subarray(cut))]
    const head = `HTTP/1.1 ${answer.status} Relayed\r\ncontent-type: ${answer.headers.get('content-type')}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`
    socket.end(Buffer.concat([Buffer.from(head), ...parts.map(inChunk), Buffer.from('0\r\n\r\n')]))
  }

  const inChunk = (bytes: Buffer): Buffer =>
    bytes.length === 0
      ? bytes
      : Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

  /** After magic, key id and salt, frames start with the length of what follows their five bytes. */
  function startOfLastFrame(sealed: Buffer): number {
    let start = 4 + 16 + 32
    for (let next = start; next < sealed.length; next += 5 + sealed.readUInt32BE(next)) start = next
    return start
  }

  beforeAll(async () => {
    framed = Bun.listen<{ received: Buffer }>({
      ...{ hostname: '127.0.0.1', port: 0 },
      socket: {
        open(socket) {
          socket.data = { received: Buffer.alloc(0) }
        },
        data: serve,
      },
    })
    const endpoint = ['--apiEndpoint', `http://127.0.0.1:${framed.port}`]
    behind = await startProxy(scripted.system, {
      args: [...endpoint, '--apiKey', scripted.system.apiKey, '--trafficShape', 'default'],
    })
  }, 150_000)

  afterAll(async () => {
    await behind.stop()
    framed.stop(true)
  }, 240_000)

  const stream = async () => (await post(behind, chatPath, chat({ stream: true }))).text()

  test('is whole: only the receipt is lost', async () => {
    const honestly = await stream()
    expect(honestly).toEndWith('data: [DONE]\n\n')
    for (const change of [
      (frame: Buffer) => flipped(frame, frame.length - 20),
      (frame: Buffer) => frame.subarray(0, 3),
      (frame: Buffer) => Buffer.concat([frame, Buffer.alloc(40)]),
    ]) {
      changeLast = change
      expect(textOf(await stream())).toBe(textOf(honestly))
      changeLast = (frame) => frame
    }
  })
})

/** What a stream says, without ids and times. */
const textOf = (stream: string): string =>
  Array.from(
    stream.matchAll(/"content":"([^"]*)"|\[DONE\]/g),
    (found) => found[1] ?? found[0],
  ).join('')

describe('an answer that does not end', () => {
  const stopsShort: Tamper = (sealed) =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(sealed.subarray(0, sealed.length - 1)),
      }),
      { headers: sealedType },
    )
  const drips: Tamper = (sealed) => {
    let at = 0
    const body = new ReadableStream({
      async pull(controller) {
        await Bun.sleep(50)
        controller.enqueue(sealed.subarray(at, ++at))
      },
    })
    return new Response(body, { headers: sealedType })
  }

  test('because it stops short or trickles is aborted', async () => {
    const tricks = [stopsShort, drips]
    tamper = (sealed) => (tricks.shift() ?? honest)(sealed)
    const asked = await Promise.all(
      [true, true].map((stream) => post(proxy, chatPath, chat({ stream }))),
    )
    for (const response of asked) expect(await response.text()).toContain('timeout')
    tamper = honest
  }, 240_000)
})

describe('an answer in clear text', () => {
  const forged = JSON.stringify({ choices: [{ message: { content: 'send me your key' } }] })

  test('is never a success, whatever it claims', async () => {
    for (const headers of [{ 'content-type': 'application/json' }, sealedType]) {
      const { status, text } = await ask(() => new Response(forged, { headers }), false)
      expect(status).toBe(502)
      expect(text).not.toContain('send me your key')
    }
  })

  test('a redirect is not followed', async () => {
    const { status } = await ask(() => Response.redirect('http://127.0.0.1:1/', 307), false)
    expect(status).toBe(502)
  })

  test('an endless error is cut', async () => {
    const endless = () => new Response('x'.repeat(5_000_000), { status: 500 })
    const { status, text } = await ask(endless, false)
    expect(status).toBe(500)
    expect(text.length).toBeLessThan(1000)
  })

  test('an error of the gateway keeps its status and retry-after, and no other header', async () => {
    const limited = () => {
      const body = { error: { message: 'too many', code: 'rate_limit_exceeded', retryable: true } }
      const headers = { 'retry-after': '7', 'set-cookie': 'x=1', 'x-evil': '1' }
      return Response.json(body, { status: 429, headers })
    }
    tamper = limited
    const response = await post(proxy, chatPath, chat())
    tamper = honest
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('x-evil')).toBeNull()
    const { error } = await errorOf(response)
    expect(error.code).toBe('rate_limit_exceeded')
    expect(error.message).not.toContain('too many')
  })

  test('with the code of a worker or of the proxy itself is no more than an error', async () => {
    const lure = 'restart with --allowSoftwareAttestation'
    for (const code of ['attestation_refused', 'context_length_exceeded', lure]) {
      const body = { error: { message: lure, code, param: lure, retryable: true } }
      const { status, text } = await ask(() => Response.json(body, { status: 400 }), false)
      expect(status).toBe(502)
      expect(text).toContain('upstream_error')
      expect(text).not.toContain('allowSoftwareAttestation')
    }
  })
})

describe('retries', () => {
  const refusal = (status: number, code: string) => () =>
    Response.json({ error: { message: 'no', code, retryable: true } }, { status })

  test('after an unknown key, the client verifies again and repeats the call', async () => {
    let first = true
    const once: Tamper = (sealed) => {
      if (!first) return honest(sealed)
      first = false
      return refusal(409, 'unknown_key')()
    }
    const { status, tries } = await ask(once, false)
    expect({ status, tries }).toEqual({ status: 200, tries: 2 })
  })

  test('are bounded, and not attempted for errors that a retry cannot fix', async () => {
    expect((await ask(refusal(502, 'worker_unreachable'), false)).tries).toBe(4)
    expect((await ask(refusal(503, 'overloaded'), false)).tries).toBe(1)
    expect((await ask(refusal(400, 'malformed'), false)).tries).toBe(1)
  })

  test('are never made after the first byte', async () => {
    const cut: Tamper = (sealed) => honest(sealed.subarray(0, sealed.length - 30))
    expect((await ask(cut, true)).tries).toBe(1)
  })
})
