/** Connections to servers: plain, TLS, through a tunnel, and every way in which they fail. */
import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { rejection } from '../../../test/rejection.ts'
import { chooseProxy } from '../../service/src/proxy-choice.ts'
import { createTestAuthority } from '../../service/src/testing/certificates.ts'
import { unlessMissing } from '../../service/src/testing/conditional-tests.ts'
import { startConnectProxy } from '../../service/src/testing/connect-proxy.ts'
import { emptyRange, viewOf } from './byte-range.ts'
import type { UpstreamConnection } from './upstream-connection.ts'
import { UpstreamPool } from './upstream-pool.ts'

const authority = createTestAuthority('Upstream CA')
const tls = authority.issue(['api.test', '127.0.0.1'])
const answer = async (request: Request) => new Response(`got ${(await request.text()).length}`)
const address = { hostname: '127.0.0.1', port: 0, fetch: answer }
const plain = Bun.serve(address)
const secure = Bun.serve({ ...address, tls: { cert: tls.certPem, key: tls.keyPem } })
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
      head(head, body, ended) {
        text = `${head.status} `
        this.data(body, ended)
      },
      data(body, ended) {
        for (const range of body) text += viewOf(range).toString()
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

test('answers of servers that hang up at once are whole, however many arrive together', async () => {
  const hasty = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi')
        socket.end()
      },
    },
  })
  const pool = newPool(undefined)
  const origin = `http://127.0.0.1:${hasty.port}`
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(Array.from({ length: 64 }, () => ask(pool, origin)))
    expect(new Set(answers)).toEqual(new Set(['200 hi']))
  }
  hasty.stop(true)
})

test('TLS is verified against the given authorities', async () => {
  expect(await ask(newPool(authority.certPem), httpsOrigin)).toBe('200 got 5')
  expect(await rejection(newPool(undefined).connect(httpsOrigin))).toMatchObject({
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  })
})

test('a certificate for another name is refused, even from the same authority', async () => {
  const origin = httpsOrigin.replace('127.0.0.1', 'localhost')
  expect(await rejection(newPool(authority.certPem).connect(origin))).toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('a tunnel is requested by name, carries a lot of data and is reused', async () => {
  const pool = newPool(authority.certPem, tunnel.url)
  expect(await ask(pool, 'https://api.test')).toBe('200 got 5')
  expect(await ask(pool, 'https://api.test', 3_000_000)).toBe('200 got 3000000')
  expect(tunnel.asked).toEqual(['api.test:443'])
})

test('TLS inside a tunnel is verified as well', async () => {
  expect(await rejection(newPool(undefined, tunnel.url).connect('https://api.test'))).toMatchObject(
    {
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
  )
})

test('a refused tunnel, an unreachable server and an unknown name have distinct codes', async () => {
  const refused = newPool(authority.certPem, tunnel.url).connect('https://forbidden.test')
  expect(await rejection(refused)).toMatchObject({ code: 'ERR_PROXY_TUNNEL' })
  const nobody = newPool(undefined).connect('http://127.0.0.1:1')
  expect(await rejection(nobody)).toMatchObject({ code: 'ECONNREFUSED' })
  expect(await rejection(newPool(undefined).connect('http://nowhere.invalid'))).toMatchObject({
    code: 'ENOTFOUND',
  })
})

test('a server that accepts and stays silent times out', async () => {
  const mute = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const pool = new UpstreamPool({
    limits: { ...limits, connectTimeoutMs: 50 },
    clock: () => performance.now(),
    caPem: undefined,
  })
  expect(await rejection(pool.connect(`https://127.0.0.1:${mute.port}`))).toMatchObject({
    name: 'TimeoutError',
  })
  pool.close()
  mute.stop(true)
})

test('connections that died silently cost one request its timeout, not one each', async () => {
  let isMute = false
  const server = Bun.serve({
    ...address,
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

/** Seconds until the kernel sends a keep-alive probe, for each of our connections to a port. */
function keepAliveSeconds(port: number): number[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote, state]) => remote?.endsWith(`:${hexPort}`) && state === '01')
    .map(([, , , , , timer = '']) => {
      const [kind, ticks = ''] = timer.split(':')
      return kind === '02' ? Number.parseInt(ticks, 16) / 100 : Infinity
    })
}

unlessMissing(
  process.platform === 'linux' ? undefined : 'only Linux shows the timers of sockets',
).test('servers that vanish silently are detected by keep-alive probes', async () => {
  for (const [origin, port, proxy] of [
    [httpOrigin, plain.port ?? 0],
    [httpsOrigin, secure.port ?? 0],
    ['https://api.test', Number(new URL(tunnel.url).port), tunnel.url],
  ] as const) {
    for (const pool of pools.splice(0)) pool.close()
    const pool = newPool(authority.certPem, proxy)
    await ask(pool, origin)
    const waits = keepAliveSeconds(port)
    expect(waits.length).toBeGreaterThan(0)
    expect(Math.max(...waits)).toBeLessThanOrEqual(15)
  }
})

test('requests on a silent server can be aborted; younger ones, or those not being read, continue', async () => {
  const mute = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const speaker = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1'),
    },
  })
  const pool = newPool(undefined)
  const failures: string[] = []
  const send = async (port: number, name: string) => {
    const connection = await pool.connect(`http://127.0.0.1:${port}`)
    const begun = Promise.withResolvers<void>()
    const sink = {
      head: () => begun.resolve(),
      data: () => undefined,
      fail: (why: string) => void failures.push(`${name}: ${why}`),
    }
    const head = 'POST / HTTP/1.1\r\nhost: api.test\r\ncontent-length: 0\r\n\r\n'
    const body = { bytes: Buffer.alloc(0), start: 0, end: 0 }
    connection.send({ head, body, lengthBytes: 0 }, sink, Infinity)
    return { connection, begun: begun.promise }
  }
  await send(mute.port, 'mute')
  const paused = await send(mute.port, 'paused')
  paused.connection.pause()
  const begun = await send(speaker.port, 'begun')
  await begun.begun
  const giveUp = (port: number, silentMs: number) =>
    pool.giveUp(`http://127.0.0.1:${port}`, silentMs)
  expect([giveUp(mute.port, 60_000), giveUp(speaker.port, 60_000)]).toEqual([0, 0])
  await Bun.sleep(350)
  expect(giveUp(mute.port, 100)).toBe(1)
  expect(failures).toEqual(['mute: broken'])
  expect(giveUp(speaker.port, 100)).toBe(1)
  expect(failures).toEqual(['mute: broken', 'begun: broken'])
  expect(giveUp(mute.port, 100)).toBe(0)
  mute.stop(true)
  speaker.stop(true)
})

test('a request that meets a connection just closed by its server is retried once', async () => {
  let opened = 0
  let requests = 0
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: () => void opened++,
      data(socket) {
        // The second request on any connection finds it closed.
        if (++requests === 2) socket.end()
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      },
    },
  })
  const pool = newPool(undefined)
  const send = () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const connected: UpstreamConnection[] = []
    const head = 'POST / HTTP/1.1\r\nhost: api.test\r\ncontent-length: 0\r\n\r\n'
    const sink = {
      connected: (connection: UpstreamConnection) => connected.push(connection) > 0,
      head: ({ status }: { status: number }) => resolve(`${status}`),
      data: () => undefined,
      fail: resolve,
    }
    pool.send(
      `http://127.0.0.1:${server.port}`,
      { head, body: emptyRange, lengthBytes: 0 },
      sink,
      performance.now() + 60_000,
    )
    return { answer: promise, connected }
  }
  expect(await send().answer).toBe('200')
  const again = send()
  expect(await again.answer).toBe('200')
  expect([again.connected.length, opened, requests]).toEqual([2, 2, 3])
  server.stop(true)
})
