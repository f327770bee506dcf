/** What the proxy refuses, and its own pages. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { leastMs } from '../least-ms.ts'
import { thrown } from '../rejection.ts'
import {
  type ProxyProcess,
  spawnProxy,
  startProxy,
  systemArgs,
  withoutFlags,
} from './proxy-process.ts'
import {
  chat,
  chatPath,
  errorOf,
  post,
  rawExchange,
  type ScriptedSystem,
  startKeyedProxy,
  startScriptedSystem,
} from './scripted-system.ts'

let scripted: ScriptedSystem
let keyed: ProxyProcess
let open: ProxyProcess

beforeAll(async () => {
  scripted = await startScriptedSystem()
  ;[keyed, open] = await Promise.all([startKeyedProxy(scripted), startProxy(scripted.system)])
}, 150_000)

afterAll(async () => {
  await Promise.all([keyed.stop(), open.stop()])
  await scripted.system.stop()
}, 240_000)

test('a trial backend is refused with the names of the flags that it needs', async () => {
  const trial = ['--allowSoftwareAttestation', '--softwareRootFingerprint']
  const { system } = scripted
  const args = [...withoutFlags(systemArgs(system), trial.slice(1)), '--apiKey', system.apiKey]
  const proxy = await spawnProxy(
    args.filter((arg) => arg !== trial[0]),
    { cold: true },
  )
  try {
    await proxy.logged('the backend is not verified', ...trial)
    const { cause } = (await (await fetch(`${proxy.url}/ready`)).json()) as { cause: string }
    for (const flag of trial) expect(cause).toContain(flag)
  } finally {
    await proxy.stop()
  }
}, 60_000)

describe('bad requests', () => {
  const cases: [string, RequestInit['body'], Record<string, string>, number, string][] = [
    ['broken JSON', '{"model":', {}, 400, 'invalid_json'],
    ['an array', '[]', {}, 400, 'invalid_json'],
    ['a key twice', '{"model":"a","mod\\u0065l":"b"}', {}, 400, 'invalid_json'],
    ['no model', '{}', {}, 400, 'missing_parameter'],
    ['a long array', `["${'x'.repeat(900_000)}"]`, {}, 400, 'invalid_json'],
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

  test('a head that is too long is refused, while others are served', async () => {
    const long = `GET /health HTTP/1.1\r\nhost: localhost\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`
    expect(await rawExchange(keyed.port, long)).not.toContain('200 OK')
    expect((await fetch(`${keyed.url}/health`)).status).toBe(200)
  })

  test('a gzip body is decoded', async () => {
    const body = Bun.gzipSync(Buffer.from(chat()))
    const response = await post(keyed, chatPath, body, { 'content-encoding': 'gzip' })
    expect(response.status).toBe(200)
  })

  test('a long gzip body is not scanned before it is decoded', async () => {
    const content = crypto.getRandomValues(Buffer.alloc(120_000)).toString('hex')
    const body = Bun.gzipSync(Buffer.from(chat({ messages: [{ role: 'user', content }] })))
    const answer = await rawExchange(
      keyed.port,
      `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `content-encoding: gzip\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
      (text) => (text.includes('100 Continue') ? body : undefined),
    )
    expect(answer).toContain('HTTP/1.1 200 OK')
  })

  test('Expect: 100-continue is answered at once', async () => {
    const body = chat()
    const answeredMs = await leastMs(900, async () => {
      const answer = await rawExchange(
        keyed.port,
        `POST ${chatPath} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
          `content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
        (text) => (text.includes('100 Continue') ? body : undefined),
      )
      expect(answer).toContain('HTTP/1.1 200 OK')
    })
    expect(answeredMs).toBeLessThan(900)
  })

  test('unknown fields, query strings and charsets are accepted', async () => {
    const body = chat({ context_management: {}, store: true, verbosity: 'low' })
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    expect((await post(keyed, `${chatPath}?beta=true`, body, headers)).status).toBe(200)
    expect((await fetch(`${keyed.url}/v1/models?limit=1000`)).status).toBe(200)
  })
})

describe('pages of other origins', () => {
  test('are refused, and so is an unknown Host', async () => {
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

test('--listenAddress and --allowedHosts: there and nowhere else, under that name and no other', async () => {
  const args = ['--listenAddress', '127.0.0.2', '--allowedHosts', 'proxy.internal, other.internal']
  const proxy = await startProxy(scripted.system, { args })
  expect(proxy.url).toStartWith('http://127.0.0.2:')
  expect(await thrown(fetch(`http://127.0.0.1:${proxy.port}/health`))).toThrow()
  const statusUnder = async (host: string, origin?: string) => {
    const headers = { host, ...(origin === undefined ? {} : { origin }) }
    return (await fetch(`${proxy.url}/health`, { headers })).status
  }
  expect(await statusUnder(`proxy.internal:${proxy.port}`)).toBe(200)
  expect(await statusUnder('OTHER.internal')).toBe(200)
  expect(await statusUnder('evil.example')).toBe(403)
  expect(await statusUnder('proxy.internal', 'http://proxy.internal')).toBe(200)
  expect(await statusUnder('proxy.internal', 'http://other.internal')).toBe(403)
  expect(await statusUnder('proxy.internal', 'null')).toBe(403)
  await proxy.stop()
})

describe("the proxy's own pages", () => {
  test('HEAD / and /health need no key', async () => {
    expect((await fetch(`${open.url}/`, { method: 'HEAD' })).status).toBe(200)
    expect(await (await fetch(`${open.url}/health`)).json()).toEqual({ status: 'ok' })
  })

  test('/ready reports that the backend is verified', async () => {
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

  test('/metrics is served only if enabled', async () => {
    expect((await fetch(`${open.url}/metrics`)).status).toBe(404)
    const text = await (await fetch(`${keyed.url}/metrics`)).text()
    expect(text).toContain(`privatemode_proxy_requests_total{route="${chatPath}",status="200"`)
    expect(text).toContain('privatemode_proxy_verified_workers 1')
  })
})
