/** What applications see of the proxy: the real program, gateway and worker around a scripted engine. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { EngineCall } from '../../apps/worker/src/engine/engine.ts'
import { ScriptedEngine } from '../../apps/worker/src/testing/scripted-engine.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { type ProxyProcess, startProxy } from './proxy-process.ts'

const canary = 'canary-7f3a9'
const words = ['Once ', 'upon ', 'a time'].map((content) => ({ content }))
const hooks: {
  before: ((call: EngineCall) => void | Promise<void>) | undefined
  beforeChunk: ((index: number, call: EngineCall) => void | Promise<void>) | undefined
} = { before: undefined, beforeChunk: undefined }
const engine = new ScriptedEngine({
  deltas: words,
  before: (call) => hooks.before?.(call),
  beforeChunk: (index, call) => hooks.beforeChunk?.(index, call),
})

let system: System
let keyed: ProxyProcess
let open: ProxyProcess

beforeAll(async () => {
  system = await startSystem({ engines: [engine] })
  const args = ['--apiKey', system.apiKey, '--metrics', '--bodyLimitMiB', '1']
  ;[keyed, open] = await Promise.all([
    startProxy(system, { args: [...args, '--log-format', 'text', '-l', 'debug'] }),
    startProxy(system),
  ])
}, 60_000)

afterAll(async () => {
  await Promise.all([keyed.stop(), open.stop()])
  await system.stop()
}, 30_000)

const chat = (over: object = {}) =>
  JSON.stringify({ model: 'org/chat-1', messages: [{ role: 'user', content: canary }], ...over })
const json = { 'content-type': 'application/json' }
const post = (proxy: ProxyProcess, path: string, body: RequestInit['body'], headers: object = {}) =>
  fetch(proxy.url + path, { method: 'POST', body: body ?? null, headers: { ...json, ...headers } })
const chatPath = '/v1/chat/completions'
type ErrorBody = { error: { code?: string; type: string; message: string }; request_id?: string }
const errorOf = async (response: Response) => (await response.json()) as ErrorBody

describe('official clients', () => {
  test('OpenAI: whole, streamed, models', async () => {
    const openai = new OpenAI({ baseURL: `${keyed.url}/v1`, apiKey: 'unused', maxRetries: 0 })
    const request = { model: 'org/chat-1', messages: [{ role: 'user' as const, content: 'hi' }] }
    const whole = await openai.chat.completions.create(request)
    expect(whole.choices[0]?.message.content).toBe('Once upon a time')
    let text = ''
    for await (const chunk of await openai.chat.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe('Once upon a time')
    const models = await openai.models.list()
    expect(models.data.map(({ id }) => id)).toContain('org/chat-1')
    expect((await openai.models.retrieve('org/chat-1')).id).toBe('org/chat-1')
  })

  test('Anthropic: whole and streamed', async () => {
    const anthropic = new Anthropic({ baseURL: keyed.url, apiKey: 'unused', maxRetries: 0 })
    const request = {
      model: 'org/chat-1',
      max_tokens: 50,
      messages: [{ role: 'user' as const, content: 'hi' }],
    }
    const whole = await anthropic.messages.create(request)
    expect(whole.content).toMatchObject([{ type: 'text', text: 'Once upon a time' }])
    const streamed = await anthropic.messages.stream(request).finalMessage()
    expect(streamed.content).toMatchObject([{ type: 'text', text: 'Once upon a time' }])
  })
})

describe('authentication', () => {
  test("with --apiKey clients need no key, and a wrong key of theirs doesn't matter", async () => {
    expect((await post(keyed, chatPath, chat())).status).toBe(200)
    const wrong = await post(keyed, chatPath, chat(), { authorization: 'Bearer wrong' })
    expect(wrong.status).toBe(200)
  })

  test("without it each client's own key is used, by either header", async () => {
    const authorization = `Bearer ${system.apiKey}`
    expect((await post(open, chatPath, chat(), { authorization })).status).toBe(200)
    const byApiKey = await post(open, chatPath, chat(), { 'x-api-key': system.apiKey })
    expect(byApiKey.status).toBe(200)
    const listed = await fetch(`${open.url}/v1/models`, { headers: { authorization } })
    expect(listed.status).toBe(200)
  })

  test('without any key the answer is 401 in the dialect of the path', async () => {
    const openai = await post(open, chatPath, chat())
    expect(openai.status).toBe(401)
    expect((await errorOf(openai)).error.code).toBe('invalid_api_key')
    const anthropic = await post(open, '/v1/messages', chat())
    expect(anthropic.status).toBe(401)
    expect(await anthropic.json()).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
      request_id: anthropic.headers.get('request-id'),
    })
  })

  test('a key the backend does not know is refused by it', async () => {
    const response = await post(open, chatPath, chat(), { authorization: 'Bearer pm-unknown' })
    expect(response.status).toBe(401)
    expect((await errorOf(response)).error.code).toBe('invalid_api_key')
  })
})

describe('every response', () => {
  test('has both request ids, equal, also errors, pages and streams', async () => {
    const responses = await Promise.all([
      post(keyed, chatPath, chat()),
      post(keyed, chatPath, chat({ stream: true })),
      post(keyed, chatPath, '{'),
      fetch(`${keyed.url}/health`),
      fetch(`${keyed.url}/nowhere`),
      fetch(`${keyed.url}/v1/models`),
    ])
    for (const response of responses) {
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
      expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
      await response.arrayBuffer()
    }
  })

  test('a stream says that it is one and is not compressed or held back', async () => {
    const headers = { accept: 'application/json', 'accept-encoding': 'gzip, br, zstd' }
    const response = await post(keyed, chatPath, chat({ stream: true }), headers)
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(await response.text()).toEndWith('data: [DONE]\n\n')
  })

  test('the first event arrives before the second exists', async () => {
    const release = Promise.withResolvers<void>()
    hooks.beforeChunk = (index) => (index === 2 ? release.promise : undefined)
    const response = await post(keyed, chatPath, chat({ stream: true }))
    const reader = response.body?.getReader()
    const first = new TextDecoder().decode((await reader?.read())?.value)
    expect(first).toStartWith('data: {')
    release.resolve()
    hooks.beforeChunk = undefined
    while (!(await reader?.read())?.done);
  })
})

describe('bad requests', () => {
  const cases: [string, RequestInit['body'], Record<string, string>, number, string][] = [
    ['broken JSON', '{"model":', {}, 400, 'invalid_json'],
    ['an array', '[]', {}, 400, 'invalid_json'],
    ['a key twice', '{"model":"a","mod\\u0065l":"b"}', {}, 400, 'invalid_json'],
    ['no model', '{}', {}, 400, 'missing_parameter'],
    ['an unknown model', '{"model":"none"}', {}, 404, 'model_not_found'],
    ['plain text', 'hello', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['another encoding', 'x', { 'content-encoding': 'br' }, 415, 'unsupported_media_type'],
    ['broken gzip', 'x', { 'content-encoding': 'gzip' }, 400, 'malformed'],
    ['a body over the limit', 'x'.repeat(1024 * 1024 + 1), {}, 413, 'request_too_large'],
  ]
  test.each(cases)('%s', async (_name, body, headers, status, code) => {
    const response = await post(keyed, chatPath, body, headers)
    expect(response.status).toBe(status)
    expect((await errorOf(response)).error.code).toBe(code)
  })

  test('an unknown path is 404 and a wrong method 405 with Allow, as JSON', async () => {
    const unknown = await fetch(`${keyed.url}/v1/nothing`)
    expect(unknown.status).toBe(404)
    expect((await errorOf(unknown)).error.code).toBe('not_found')
    const wrong = await fetch(keyed.url + chatPath)
    expect(wrong.status).toBe(405)
    expect(wrong.headers.get('allow')).toBe('POST')
    const messages = await fetch(`${keyed.url}/v1/messages`)
    expect(await messages.json()).toMatchObject({ type: 'error' })
  })

  test('a body over the limit is refused before it is read', async () => {
    const answer = await rawExchange(
      keyed.port,
      `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        'content-length: 999999999\r\n\r\n{',
    )
    expect(answer).toStartWith('HTTP/1.1 413')
  })

  test('a gzip body is decoded', async () => {
    const body = Bun.gzipSync(Buffer.from(chat()))
    const response = await post(keyed, chatPath, body, { 'content-encoding': 'gzip' })
    expect(response.status).toBe(200)
  })

  test('Expect: 100-continue is answered at once', async () => {
    const body = chat()
    const started = performance.now()
    const answer = await rawExchange(
      keyed.port,
      `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
      (text) => (text.includes('100 Continue') ? body : undefined),
    )
    expect(answer).toContain('HTTP/1.1 200 OK')
    expect(performance.now() - started).toBeLessThan(900)
  })

  test('unknown fields, query strings and charsets are no reason to refuse', async () => {
    const body = chat({ context_management: {}, store: true, verbosity: 'low' })
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    expect((await post(keyed, `${chatPath}?beta=true`, body, headers)).status).toBe(200)
    expect((await fetch(`${keyed.url}/v1/models?limit=1000`)).status).toBe(200)
  })
})

describe('pages of other origins', () => {
  test('are refused, and so is a Host this proxy does not have', async () => {
    const foreign = await post(keyed, chatPath, chat(), { origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    const answer = await rawExchange(keyed.port, 'GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n')
    expect(answer).toStartWith('HTTP/1.1 403')
    const preflight = await fetch(keyed.url + chatPath, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    })
    expect(preflight.status).toBe(403)
  })
})

describe("the proxy's own pages", () => {
  test('HEAD / and /health need no key', async () => {
    expect((await fetch(`${open.url}/`, { method: 'HEAD' })).status).toBe(200)
    expect(await (await fetch(`${open.url}/health`)).json()).toEqual({ status: 'ok' })
  })

  test('/ready says that the backend is verified', async () => {
    const response = await fetch(`${keyed.url}/ready`)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ ready: true, verified_workers: 1 })
  })

  test('the verification says manifest, workers, checks and lifetimes, to programs and people', async () => {
    const facts = (await (await fetch(`${keyed.url}/privatemode/v1/verification`)).json()) as {
      manifest: { digest: string; enforced_since: string }
      workers: { worker_id: string; valid_until: string; checks: { result: string }[] }[]
    }
    expect(facts.manifest.digest).toStartWith('sha256:')
    expect(Date.parse(facts.manifest.enforced_since)).toBeLessThanOrEqual(Date.now())
    expect(facts.workers).toHaveLength(1)
    expect(facts.workers[0]?.checks.length).toBeGreaterThan(5)
    expect(Date.parse(facts.workers[0]?.valid_until ?? '')).toBeLessThan(Date.now() + 3_600_000)
    const page = await fetch(`${keyed.url}/`)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await page.text()).toContain(facts.workers[0]?.worker_id ?? 'none')
  })

  test('/metrics is there on request only', async () => {
    expect((await fetch(`${open.url}/metrics`)).status).toBe(404)
    const text = await (await fetch(`${keyed.url}/metrics`)).text()
    expect(text).toContain(`privatemode_proxy_requests_total{route="${chatPath}",status="200"`)
    expect(text).toContain('privatemode_proxy_verified_workers 1')
  })
})

describe('a client that goes away', () => {
  test.each([true, false])(
    'stops the generation (stream: %p)',
    async (stream) => {
      const started = Promise.withResolvers<EngineCall>()
      hooks.before = async (call) => {
        started.resolve(call)
        if (!stream) await new Promise(() => {})
      }
      hooks.beforeChunk = () => new Promise(() => {})
      const abort = new AbortController()
      const request = fetch(keyed.url + chatPath, {
        method: 'POST',
        headers: json,
        body: chat({ stream }),
        signal: abort.signal,
      }).catch(() => undefined)
      const call = await started.promise
      const stopped = Promise.withResolvers<void>()
      call.signal.addEventListener('abort', () => stopped.resolve())
      abort.abort()
      await request
      await stopped.promise
      hooks.before = undefined
      hooks.beforeChunk = undefined
      await keyed.logged('outcome=aborted')
    },
    10_000,
  )
})

describe('a worker that fails in mid-stream', () => {
  test.each([
    [chatPath, 'data: {"error":{'],
    ['/v1/messages', 'event: error\ndata: {"type":"error"'],
  ])('gives an error event on %s and no clean end', async (path, expected) => {
    hooks.beforeChunk = (index) => {
      if (index === 2) throw new Error('the engine broke')
    }
    const response = await post(keyed, path, chat({ stream: true, max_tokens: 10 }))
    const text = await response.text()
    hooks.beforeChunk = undefined
    expect(text).toContain(expected)
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('message_stop')
  })
})

test('two hundred requests over one connection', async () => {
  for (let index = 0; index < 200; index++) {
    const response = await post(keyed, chatPath, chat())
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  }
}, 30_000)

test('the log has a line per request and never content, keys or salts', async () => {
  const salt = `${canary}-${'s'.repeat(40)}`
  const response = await post(keyed, chatPath, chat({ cache_salt: salt }), {
    authorization: `Bearer ${canary}-key`,
    'x-secret-path': `/home/${canary}`,
  })
  await response.arrayBuffer()
  const line = await keyed.logged(String(response.headers.get('request-id')))
  for (const part of [
    'route=/v1/chat/completions',
    'model=org/chat-1',
    'status=200',
    'elapsedMs=',
  ]) {
    expect(line).toContain(part)
  }
  await post(keyed, `/v1/${canary}`, canary)
  expect(keyed.log()).not.toContain(canary)
  expect(keyed.log()).not.toContain(system.apiKey)
  expect(await (await fetch(`${keyed.url}/metrics`)).text()).not.toContain(canary)
})

describe('flags of the log', () => {
  test('--log-format json and a level as a number', async () => {
    const args = ['--log-format', 'json', '--log-level', '-4', '--apiKey', system.apiKey]
    const proxy = await startProxy(system, { args, cold: true })
    await proxy.logged('"msg":"ready"')
    for (const line of proxy.log().trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({
        time: expect.any(String),
        level: expect.any(String),
      })
    }
    await proxy.stop()
  })

  test('--log-level error is silent about what is well', async () => {
    const proxy = await startProxy(system, {
      args: ['-l', 'error'],
      cold: true,
      port: await freePort(),
    })
    await untilListening(proxy)
    expect(proxy.log()).toBe('')
    await proxy.stop()
  })
})

test('--dumpRequests writes pairs without keys, and warns at the start', async () => {
  const args = ['--dumpRequests', '--apiKey', system.apiKey]
  const proxy = await startProxy(system, { args })
  await proxy.logged('level=WARN', '--dumpRequests')
  const secret = { authorization: 'Bearer sk-client-secret' }
  await (await post(proxy, chatPath, chat(), secret)).text()
  await (await post(proxy, chatPath, chat({ stream: true }), secret)).text()
  await (await post(proxy, chatPath, '{', secret)).text()
  proxy.signal('SIGTERM')
  await proxy.exited
  const [day = ''] = readdirSync(join(proxy.workspace, 'requests'))
  const folder = join(proxy.workspace, 'requests', day)
  const files = readdirSync(folder)
  expect(files.filter((name) => name.endsWith('-request.txt'))).toHaveLength(3)
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  expect(text).toContain(canary)
  expect(text).toContain('Once upon a time')
  expect(text).toContain('[DONE]')
  expect(text).not.toContain('sk-client-secret')
  expect(text).not.toContain(system.apiKey)
})

test('the workspace has the enforced manifest and since when', () => {
  const manifests = join(keyed.workspace, 'manifests')
  const log = readFileSync(join(manifests, 'log.txt'), 'utf8')
  const [time = '', name = ''] = log.trim().split(' ')
  expect(new Date(time).toISOString()).toBe(time)
  expect(readFileSync(join(manifests, name))).toEqual(Buffer.from(system.manifest))
  expect(existsSync(join(keyed.workspace, 'requests'))).toBe(false)
})

async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const port = server.port ?? 0
  await server.stop(true)
  return port
}

async function untilListening(proxy: ProxyProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const up = await fetch(`${proxy.url}/health`).then(
      () => true,
      () => false,
    )
    if (up) return
    await Bun.sleep(25)
  }
  throw new Error('the proxy does not listen')
}

/** Speaks HTTP by hand; `reply` may answer what came so far. Resolves with the first whole response. */
function rawExchange(
  port: number,
  request: string,
  reply?: (text: string) => string | undefined,
): Promise<string> {
  const done = Promise.withResolvers<string>()
  let text = ''
  let replied = false
  const socket = connect(port, '127.0.0.1', () => void socket.write(request))
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    const answer = replied ? undefined : reply?.(text)
    if (answer !== undefined) {
      replied = true
      socket.write(answer)
    } else if (/^HTTP\/1\.1 [2-5]\d\d/m.test(text) && /[}>]\s*$/.test(text)) {
      socket.destroy()
      done.resolve(text)
    }
  })
  socket.on('close', () => done.resolve(text))
  socket.on('error', done.reject)
  return done.promise
}
