import { afterEach, expect, test } from 'bun:test'
import { serveHttp } from '@privatemode/http'
import { createLog, type Log } from '@privatemode/service'
import { rawClient } from '../../../packages/http/src/testing/raw-client.ts'
import { createWorkerServer, type WorkerApp } from './app.ts'
import { RelayGuard } from './relay/accept-relay.ts'
import { RelayKeys } from './relay/relay-keys.ts'
import type { GatewayView } from './sealed/answer-sealed.ts'
import { RequestMemory } from './sealed/request-memory.ts'
import { WorkerError } from './worker-error.ts'

const statement = new TextEncoder().encode('{}')
const silent = createLog({ format: 'json', level: 8, write: () => {} })

const maxBodyBytes = 256 * 1024

const ownRelays = () => new RelayGuard('w_1', new RelayKeys(), () => new Date())
/** Accepts every request as if the worker's gateway had relayed it, for tests of later stages. */
const anyRelay = { accept: () => ({}) as GatewayView }

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

type Answered = { readonly port: number } & ((request: Asked) => Promise<Response>)
type Asked = { readonly path: string; readonly method?: string; readonly body?: Bun.BodyInit }

/** A worker's listener, and a client that asks it. */
function handlerWith(
  produce: () => Promise<never>,
  log: Log = silent,
  relays: WorkerApp['relays'] = ownRelays(),
  maxRequests = 100,
): Answered {
  const service = { keys: { current: async () => ({ statement }) } }
  const evidence = { description: 'none', produce }
  const metrics = { refused: () => {} }
  const requestMemory = new RequestMemory(maxBodyBytes)
  const parts = { service, evidence, relays, log, metrics, requestMemory }
  const app = { ...parts, maxBodyBytes, maxRequests, attestAtOnce: 2 }
  const limits = { connections: 100, idleSeconds: 10, headSeconds: 10, stallSeconds: 10 }
  const { begin, refuse } = createWorkerServer(app as unknown as WorkerApp)
  const address = { hostname: '127.0.0.1', port: 0, tls: undefined }
  const server = serveHttp({ ...address, limits, begin, refuse })
  stops.push(() => server.stop(0))
  const ask = ({ path, method = 'POST', body }: Asked) =>
    fetch(server.url + path, { method, ...(body === undefined ? {} : { body }) })
  return Object.assign(ask, { port: server.port })
}

/** Sends a head whose body never comes, and returns the beginning of the answer, if there is one. */
async function begin(port: number, path: string, fields: readonly string[]) {
  const client = await rawClient(port)
  stops.push(() => client.close())
  client.send(`POST ${path} HTTP/1.1\r\nhost: worker\r\n${fields.join('\r\n')}\r\n\r\n`)
  return client
}

const sealedPath = '/privatemode/v1/sealed'
const attestPath = '/privatemode/v1/attestation'
const attest = (body: string): Asked => ({ path: attestPath, body })
const nonce = JSON.stringify({ nonce: 'ab'.repeat(32) })

test('concurrent attestations are bounded; excess callers are asked to retry', async () => {
  const handle = handlerWith(() => new Promise<never>(() => {}))
  for (let count = 0; count < 2; count++) {
    const client = await begin(handle.port, attestPath, [`content-length: ${nonce.length}`])
    client.send(nonce)
  }
  await Bun.sleep(20) // both were read
  const third = await handle(attest(nonce))
  expect(third.status).toBe(503)
  expect(third.headers.get('retry-after')).toBe('1')
})

test('callers that never finish sending their nonce do not count', async () => {
  let produced = 0
  const handle = handlerWith(() => {
    produced++
    return Promise.reject(new Error('produced'))
  })
  for (let count = 0; count < 3; count++) {
    const client = await begin(handle.port, attestPath, ['content-length: 80'])
    client.send('{')
  }
  await handle(attest(nonce))
  expect(produced).toBe(1)
})

test('a nonce that is not 32 bytes in hex is refused', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  for (const body of [
    '',
    '{}',
    '{"nonce":1}',
    '{"nonce":"ab"}',
    `{"nonce":"${'AB'.repeat(32)}"}`,
  ]) {
    const response = await handle(attest(body))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'malformed' } })
  }
})

test('busy hardware is distinguished from failing hardware', async () => {
  const busy = new WorkerError('evidence_overloaded', '32 already wait')
  const overloaded = await handlerWith(() => Promise.reject(busy))(attest(nonce))
  expect(overloaded.status).toBe(503)
  expect(overloaded.headers.get('retry-after')).toBe('1')
})

test('a hardware failure is explained to the operator, not to the caller', async () => {
  const lines: string[] = []
  const watched = createLog({ format: 'text', level: 8, write: (text) => lines.push(text) })
  const failure = new WorkerError('report_conflict', 'generation is 3, expected 1')
  const response = await handlerWith(() => Promise.reject(failure), watched)(attest(nonce))
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('generation')
  expect(lines.join('')).toContain('code=report_conflict detail="generation is 3, expected 1"')
  await handlerWith(() => Promise.reject(new TypeError('of a request')), watched)(attest(nonce))
  expect(lines.join('')).toContain('code=TypeError')
  expect(lines.join('')).not.toContain('of a request')
})

test('an unexpected failure does not reveal its cause', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('secret detail')))
  const response = await handle(attest(nonce))
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('secret detail')
})

test('a sealed request that no gateway relayed is refused before its body is read', async () => {
  const { port } = handlerWith(() => Promise.reject(new Error('not asked')))
  const ids = [`privatemode-request-id: ${'f0'.repeat(16)}`, 'privatemode-key-ref: key_1']
  const client = await begin(port, sealedPath, [...ids, 'content-length: 1000'])
  const answer = await client.until((text) => text.endsWith('}'))
  expect(answer).toStartWith('HTTP/1.1 403')
  expect(answer).toContain('permission_denied')
})

test('other paths, methods and oversize bodies are refused', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  expect((await handle({ path: '/elsewhere' })).status).toBe(404)
  expect((await handle({ path: sealedPath, method: 'GET' })).status).toBe(404)
  expect((await handle(attest('x'.repeat(2000)))).status).toBe(413)
  expect((await handle({ path: '/health', method: 'GET' })).status).toBe(200)
})

test('a message that is not HTTP is refused in the form of all errors', async () => {
  const { port } = handlerWith(() => Promise.reject(new Error('not asked')))
  const client = await rawClient(port)
  client.send('POST / HTTP/1.1\r\n\r\n')
  const answer = await client.rest()
  expect(answer).toStartWith('HTTP/1.1 400')
  expect(answer).toContain('"code":"malformed"')
})

test('requests above the concurrency limit are asked to retry', async () => {
  const never = () => new Promise<never>(() => {})
  const handle = handlerWith(never, silent, ownRelays(), 1)
  const client = await begin(handle.port, attestPath, [`content-length: ${nonce.length}`])
  client.send(nonce)
  await Bun.sleep(20) // it was read
  const second = await handle(attest(nonce))
  expect(second.status).toBe(503)
  expect(second.headers.get('retry-after')).toBe('1')
  // A probe that failed would have the busy worker killed.
  expect((await handle({ path: '/health', method: 'GET' })).status).toBe(200)
})

test('a gateway cannot have a sealed request decoded before it is opened', async () => {
  const { port } = handlerWith(() => Promise.reject(new Error('not asked')), silent, anyRelay)
  for (const encoding of ['gzip', 'identity']) {
    const fields = ['content-length: 1000', `content-encoding: ${encoding}`]
    const client = await begin(port, sealedPath, fields)
    const answer = await client.until((text) => text.endsWith('}'))
    expect(answer).toStartWith('HTTP/1.1 400')
    expect(answer).toContain('must not have a content-encoding')
  }
})

test('memory for a request is reserved before it is read, even without a declared length', async () => {
  for (const first of [`content-length: ${maxBodyBytes}`, 'transfer-encoding: chunked']) {
    const { port } = handlerWith(() => Promise.reject(new Error('not asked')), silent, anyRelay)
    await begin(port, sealedPath, [first])
    const second = await begin(port, sealedPath, ['content-length: 100000'])
    const answer = await second.until((text) => text.endsWith('}'))
    expect(answer).toStartWith('HTTP/1.1 503')
    expect(answer).toContain('"code":"overloaded"')
    expect(answer).toContain('"retryable":true')
  }
})

test('a refused request releases its memory', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')), silent, anyRelay)
  const body = new Uint8Array(maxBodyBytes + 1)
  for (let i = 0; i < 3; i++) expect((await handle({ path: sealedPath, body })).status).toBe(413)
})

test('a client that disconnects within its body releases its memory', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')), silent, anyRelay)
  const client = await begin(handle.port, sealedPath, [`content-length: ${maxBodyBytes}`])
  client.send('a part')
  await Bun.sleep(20) // it was read
  client.close()
  await Bun.sleep(20) // so was its end
  const body = new Uint8Array(maxBodyBytes)
  expect((await handle({ path: sealedPath, body })).status).not.toBe(503)
})
