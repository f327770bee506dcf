/** What the gateway serves besides the relay: files, portal, metrics, health. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { rawClient } from '../../../packages/http/src/testing/raw-client.ts'
import { scriptedWorker } from './testing/scripted-worker.ts'
import { receiptKeyPair, signUsage, usageRecord } from './testing/signed-usage.ts'
import { newId, startTestGateway, type TestGateway } from './testing/test-gateway.ts'

const metricsToken = 'metrics-token'
let directory: string
let gateway: TestGateway

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-files-'))
  mkdirSync(join(directory, 'portal/assets'), { recursive: true })
  mkdirSync(join(directory, 'log'))
  writeFileSync(join(directory, 'portal/index.html'), '<!doctype html>portal')
  writeFileSync(join(directory, 'portal/assets/main-0a1b2c3d.js'), 'run()')
  writeFileSync(join(directory, 'portal/assets/main-0a1b2c3d.js.gz'), Bun.gzipSync('run()'))
  writeFileSync(join(directory, 'portal/notes.xyz'), 'unknown kind')
  writeFileSync(join(directory, 'log/checkpoint'), 'checkpoint')
  gateway = await startTestGateway({
    args: [
      ['--portalDir', join(directory, 'portal')],
      ['--logDir', join(directory, 'log')],
      ['--metrics', 'true'],
      ['--metricsToken', metricsToken],
      ['--leaseSeconds', '600'],
      ['--usageGraceMs', '0'],
      ['--maxRequests', '2'],
    ].flat(),
  })
})

afterAll(async () => {
  await gateway.stop()
  rmSync(directory, { recursive: true, force: true })
})

const get = (path: string, init: RequestInit = {}) => fetch(`${gateway.gateway.url}${path}`, init)

test('the portal is sent compressed to clients that accept it', async () => {
  const ask = (encoding: string) =>
    fetch(`${gateway.gateway.url}/assets/main-0a1b2c3d.js`, {
      headers: { 'accept-encoding': encoding },
      decompress: false,
    })
  for (const encoding of ['gzip, deflate, br', 'br;q=1, gzip;q=0.5']) {
    const response = await ask(encoding)
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(response.headers.get('content-type')).toStartWith('text/javascript')
    expect(response.headers.get('vary')).toBe('accept-encoding')
    expect(gunzipSync(await response.bytes()).toString()).toBe('run()')
  }
  for (const encoding of ['identity', 'gzip;q=0', 'br', 'xgzip']) {
    const response = await ask(encoding)
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(await response.text()).toBe('run()')
  }
  // The document has no compressed copy here: it is sent uncompressed.
  expect(await (await get('/')).text()).toBe('<!doctype html>portal')
  expect((await get('/assets/main-0a1b2c3d.js.gz')).status).toBe(404)
})

test('the portal is served with a policy that allows its own code only', async () => {
  for (const path of ['/', '/keys', '/usage?x=1']) {
    const response = await get(path)
    expect(await response.text()).toBe('<!doctype html>portal')
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  }
  const script = await get('/assets/main-0a1b2c3d.js')
  expect(script.headers.get('content-type')).toStartWith('text/javascript')
  expect(script.headers.get('cache-control')).toContain('immutable')
  expect((await get('/notes.xyz')).status).toBe(404)
  expect((await get('/missing.js')).status).toBe(404)
  expect((await get('/', { method: 'POST' })).status).toBe(404)
})

test('the manifest log is open to everyone', async () => {
  const response = await get('/privatemode/v1/log/checkpoint')
  expect(await response.text()).toBe('checkpoint')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect((await get('/privatemode/v1/log/..%2fportal/index.html')).status).toBe(404)
})

test('a request for inference is refused with the right endpoint', async () => {
  const response = await get('/v1/models')
  expect(response.status).toBe(404)
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  expect(error.code).toBe('not_found')
  expect(error.message).toContain('privatemode-proxy')
})

test('health and HEAD are answered without a key', async () => {
  expect(await (await get('/health')).json()).toEqual({ status: 'ok' })
  expect((await get('/', { method: 'HEAD' })).status).toBe(200)
})

test('methods other than those of a path are refused', async () => {
  const { port } = new URL(gateway.gateway.url)
  const client = await rawClient(Number(port))
  for (const method of ['FOO', 'TRACE', 'POST', 'DELETE']) {
    for (const path of ['/health', '/privatemode/v1/log/checkpoint']) {
      client.send(`${method} ${path} HTTP/1.1\r\nhost: gateway\r\ncontent-length: 0\r\n\r\n`)
      const text = await client.until((seen) => seen.includes('}'))
      expect(text).toStartWith('HTTP/1.1 405')
      expect(text).toContain('method_not_allowed')
    }
  }
  client.close()
  const { secret } = await gateway.createKey()
  const headers = { authorization: `Bearer ${secret}` }
  const directory = (method: string) => get('/privatemode/v1/directory', { method, headers })
  expect((await directory('POST')).status).toBe(405)
  expect((await directory('GET')).status).toBe(200)
})

test('metrics require their token and reveal no key and no content', async () => {
  expect((await get('/metrics')).status).toBe(401)
  const { secret } = await gateway.createKey()
  const worker = scriptedWorker('w_one')
  await gateway.register(worker)
  await (await gateway.seal(secret, ['w_one'], { body: 'ciphertext of a prompt' })).text()
  const response = await get('/metrics', { headers: { authorization: `Bearer ${metricsToken}` } })
  const text = await response.text()
  expect(text).toContain(
    'privatemode_gateway_relayed_total{model="test-model",outcome="complete"} 1',
  )
  expect(text).not.toContain(secret)
  expect(text).not.toContain('ciphertext')
  await worker.stop()
})

test('the log has no key, no token and no ciphertext', async () => {
  // Lines are buffered for some milliseconds.
  while (!gateway.logLines.join('').includes('relayed')) await Bun.sleep(5)
  const lines = gateway.logLines.join('')
  expect(lines).not.toContain('pm_')
  expect(lines).not.toContain('ciphertext')
  expect(lines).not.toContain('-token-for-tests')
})

test('browsers of any origin may call with a key, and preflights are answered', async () => {
  const response = await get('/privatemode/v1/sealed', {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  })
  expect(response.status).toBe(204)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  const admin = await get('/privatemode/v1/admin/sign-in', {
    headers: { origin: 'https://x.example' },
  })
  expect(admin.headers.get('access-control-allow-origin')).toBeNull()
})

test('requests over the limit are asked to retry', async () => {
  const { secret } = await gateway.createKey()
  const worker = scriptedWorker('w_slow')
  const proceed = Promise.withResolvers<void>()
  const begun: (() => void)[] = []
  worker.answer = async () => {
    begun.pop()?.()
    await proceed.promise
    return new Response('done', { headers: { 'content-type': 'application/privatemode-sealed' } })
  }
  await gateway.register(worker)
  const started = [1, 2].map(() => new Promise<void>((resolve) => begun.push(resolve)))
  const running = [gateway.seal(secret, ['w_slow']), gateway.seal(secret, ['w_slow'])]
  await Promise.all(started)
  const refused = await gateway.seal(secret, ['w_slow'])
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  proceed.resolve()
  for (const response of await Promise.all(running)) expect(await response.text()).toBe('done')
  await worker.stop()
})

test('relayed but unreported requests are booked as lost, until the worker reports them', async () => {
  const pair = receiptKeyPair()
  const { id, secret } = await gateway.createKey()
  const worker = scriptedWorker('w_forgetful', pair.publicKey)
  await gateway.register(worker)
  const requestId = newId()
  await (await gateway.seal(secret, ['w_forgetful'], { requestId })).text()
  const range = 'from=2020-01-01&to=2100-01-01'
  const booked = async () => {
    const response = await gateway.operate('GET', `admin/usage/requests?${range}&key=${id}`)
    return ((await response.json()) as { requests: Record<string, unknown>[] }).requests
  }
  while ((await booked()).length === 0) await Bun.sleep(50)
  expect(await booked()).toMatchObject([
    { request_id: requestId, outcome: 'lost', prompt_tokens: 0 },
  ])
  const admission = worker.seen.at(-1)?.headers.get('privatemode-admission')
  const ids = { admission, request_id: requestId, key_ref: id, worker_id: 'w_forgetful' }
  const record = usageRecord(ids)
  await gateway.operate('POST', 'registry/usage', { records: [signUsage(pair, record)] })
  expect(await booked()).toMatchObject([{ outcome: 'complete', prompt_tokens: 10 }])
  const sums = await gateway.operate('GET', `admin/usage?${range}&key=${id}&step=all&by=outcome`)
  expect(await sums.json()).toMatchObject({ rows: [{ outcome: 'complete', requests: 1 }] })
  const csv = await (
    await gateway.operate('GET', `admin/usage/export.csv?${range}&key=${id}`)
  ).text()
  expect(csv.split('\r\n')[1]).toStartWith(`${requestId},`)
  await worker.stop()
})

test('a gateway with as many requests as it may have is still healthy, and says so', async () => {
  const { secret } = await gateway.createKey()
  const worker = scriptedWorker('w_full')
  await gateway.register(worker)
  const head = [
    'POST /privatemode/v1/sealed HTTP/1.1',
    ...['host: gateway', `authorization: Bearer ${secret}`, 'content-length: 80'],
    ...['content-type: application/privatemode-sealed', 'privatemode-model: test-model'],
    ...['privatemode-path: /v1/chat/completions', 'privatemode-workers: w_full'],
  ].join('\r\n')
  const slow = [await unfinished(head, newId()), await unfinished(head, newId())]
  expect((await get('/')).status).toBe(503)
  expect((await get('/health')).status).toBe(200)
  const authorization = `Bearer ${metricsToken}`
  expect((await get('/metrics', { headers: { authorization } })).status).toBe(200)
  for (const client of slow) client.close()
  while ((await get('/')).status === 503) await Bun.sleep(1)
  await worker.stop()
})

test('bodies that never arrive do not fill the gateway', async () => {
  const post = (path: string) => `POST ${path} HTTP/1.1\r\nhost: gateway\r\ncontent-length: 1000000`
  const slow = [
    await unfinished(post('/privatemode/v1/admin/sessions')),
    await unfinished(post('/privatemode/v1/workers/w_one/attestation')),
    await unfinished(post('/')),
  ]
  expect((await get('/')).status).toBe(200)
  for (const client of slow) client.close()
})

test('without a valid key, a sealed request is refused before its body arrives', async () => {
  const head = 'POST /privatemode/v1/sealed HTTP/1.1\r\nhost: gateway\r\ncontent-length: 1000000'
  const unknown = `\r\nauthorization: Bearer pm_${'a'.repeat(8)}_${'a'.repeat(43)}`
  for (const authorization of ['', unknown, unknown]) {
    const client = await rawClient(Number(new URL(gateway.gateway.url).port))
    client.send(`${head}${authorization}\r\nexpect: 100-continue\r\n\r\n`)
    expect(await client.until((text) => text.includes('\r\n'))).toStartWith('HTTP/1.1 401')
    client.close()
  }
  expect((await get('/')).status).toBe(200)
})

/** A request without its body, which the gateway is waiting for. */
async function unfinished(head: string, requestId = '') {
  const client = await rawClient(Number(new URL(gateway.gateway.url).port))
  const id = requestId === '' ? '' : `privatemode-request-id: ${requestId}\r\n`
  client.send(`${head}\r\n${id}expect: 100-continue\r\n\r\n`)
  expect(await client.until((text) => text.includes('\r\n\r\n'))).toContain('100 Continue')
  return client
}
