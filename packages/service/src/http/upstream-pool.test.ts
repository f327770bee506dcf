/** Connections to servers: plain, TLS, through a tunnel; and every way in which they are not made. */
import { afterAll, expect, test } from 'bun:test'
import { chooseProxy } from '../proxy-choice.ts'
import { createTestAuthority } from '../testing/certificates.ts'
import { startConnectProxy } from '../testing/connect-proxy.ts'
import { viewOf } from './span.ts'
import { UpstreamPool } from './upstream-pool.ts'

const authority = createTestAuthority('Upstream CA')
const tls = authority.issue(['api.test', '127.0.0.1'])
const answer = async (request: Request) => new Response(`got ${(await request.text()).length}`)
const place = { hostname: '127.0.0.1', port: 0, fetch: answer }
const plain = Bun.serve(place)
const secure = Bun.serve({ ...place, tls: { cert: tls.certPem, key: tls.keyPem } })
const tunnel = await startConnectProxy({ 'api.test:443': secure.port ?? 0 })
const limits = { connectTimeoutMs: 5000, idle: 4, idleMs: 60_000, silentMs: 60_000 }
const pools: UpstreamPool[] = []

afterAll(async () => {
  for (const pool of pools) pool.close()
  await tunnel.stop()
  await Promise.all([plain.stop(true), secure.stop(true)])
})

function newPool(caPem: string | undefined, proxy?: string): UpstreamPool {
  const env = { https_proxy: proxy }
  const pool = new UpstreamPool({
    limits,
    clock: () => performance.now(),
    caPem,
    chooseProxy: (url) => chooseProxy(url, env),
  })
  pools.push(pool)
  return pool
}

async function ask(pool: UpstreamPool, origin: string, size = 5): Promise<string> {
  const connection = await pool.take(origin)
  const body = Buffer.alloc(size, 'x')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  connection.send(
    {
      head: `POST / HTTP/1.1\r\nhost: api.test\r\ncontent-length: ${size}\r\n\r\n`,
      body: { bytes: body, start: 0, end: size },
      lengthBytes: size,
    },
    {
      head(head, first, ended) {
        text = `${head.status} ${viewOf(first).toString()}`
        if (ended) resolve(text)
      },
      data(bytes, ended) {
        text += bytes.toString()
        if (ended) resolve(text)
      },
      fail: reject,
    },
    performance.now() + 5000,
  )
  return promise
}

const httpOrigin = `http://127.0.0.1:${plain.port}`
const httpsOrigin = `https://127.0.0.1:${secure.port}`

test('a plain connection answers and is used again', async () => {
  const pool = newPool(undefined)
  expect(await ask(pool, httpOrigin)).toBe('200 got 5')
  expect(await ask(pool, httpOrigin, 300_000)).toBe('200 got 300000')
  expect(pool.connections).toBe(1)
})

test('TLS is verified against the given authorities', async () => {
  expect(await ask(newPool(authority.certPem), httpsOrigin)).toBe('200 got 5')
  await expect(newPool(undefined).connect(httpsOrigin)).rejects.toMatchObject({
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  })
})

test("a certificate for another name is refused, though it is of the same authority's", async () => {
  const origin = httpsOrigin.replace('127.0.0.1', 'localhost')
  await expect(newPool(authority.certPem).connect(origin)).rejects.toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('a tunnel is asked for by name, carries much data and is used again', async () => {
  const pool = newPool(authority.certPem, tunnel.url)
  expect(await ask(pool, 'https://api.test')).toBe('200 got 5')
  expect(await ask(pool, 'https://api.test', 3_000_000)).toBe('200 got 3000000')
  expect(tunnel.asked).toEqual(['api.test:443'])
})

test('TLS inside a tunnel is verified as well', async () => {
  await expect(newPool(undefined, tunnel.url).connect('https://api.test')).rejects.toMatchObject({
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  })
})

test('a tunnel that is refused, a server that is not there, a name that is none: a code each', async () => {
  const refused = newPool(authority.certPem, tunnel.url).connect('https://forbidden.test')
  await expect(refused).rejects.toMatchObject({ code: 'ERR_PROXY_TUNNEL' })
  const nobody = newPool(undefined).connect('http://127.0.0.1:1')
  await expect(nobody).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await expect(newPool(undefined).connect('http://nowhere.invalid')).rejects.toMatchObject({
    code: 'ENOTFOUND',
  })
})

test('a server that accepts and then says nothing is given up in time', async () => {
  const mute = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const pool = new UpstreamPool({
    limits: { ...limits, connectTimeoutMs: 50 },
    clock: () => performance.now(),
    caPem: undefined,
  })
  await expect(pool.connect(`https://127.0.0.1:${mute.port}`)).rejects.toMatchObject({
    name: 'TimeoutError',
  })
  pool.close()
  mute.stop(true)
})

test('connections that died without a word cost one request its patience, not one each', async () => {
  let isMute = false
  const server = Bun.serve({
    ...place,
    fetch: (request) => (isMute ? new Promise<Response>(() => {}) : answer(request)),
  })
  const origin = `http://127.0.0.1:${server.port}`
  const pool = new UpstreamPool({
    limits: { ...limits, unheardMs: 100 },
    clock: () => performance.now(),
    caPem: undefined,
  })
  pools.push(pool)
  await Promise.all([ask(pool, origin), ask(pool, origin), ask(pool, origin)])
  expect(pool.connections).toBe(3)
  isMute = true
  const connection = await pool.take(origin)
  const sink = { head() {}, data() {}, fail() {} }
  const body = { bytes: Buffer.alloc(0), start: 0, end: 0 }
  const head = 'POST / HTTP/1.1\r\nhost: api.test\r\ncontent-length: 0\r\n\r\n'
  connection.send({ head, body, lengthBytes: 0 }, sink, performance.now() + 60_000)
  await Bun.sleep(400)
  connection.abandon()
  while (pool.connections > 0) await Bun.sleep(10)
  isMute = false
  expect(await ask(pool, origin)).toBe('200 got 5')
  await server.stop(true)
})
