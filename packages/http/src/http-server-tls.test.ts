/** Certificates that are replaced while requests run. */
import { expect, test } from 'bun:test'
import { connect } from 'node:tls'
import { rejection } from '../../../test/rejection.ts'
import { createTestAuthority } from '../../service/src/testing/certificates.ts'
import { viewOf } from './byte-range.ts'
import { preferNewestListener } from './closing-listener.ts'
import type { HttpExchange } from './http-exchange.ts'
import { type HttpServer, serveHttp } from './http-server.ts'

const authority = createTestAuthority('Server CA')
const hostname = '127.0.0.1'
const limits = { connections: 100, idleSeconds: 60, headSeconds: 60, stallSeconds: 60 }
const issue = (subject: string) => authority.issue([hostname], subject)

function start(begin: (exchange: HttpExchange) => void, subject: string): HttpServer {
  const refuse = (exchange: HttpExchange) => exchange.cut()
  return serveHttp({ hostname, port: 0, tls: issue(subject), limits, begin, refuse })
}

/** Echoes the request body. */
async function echo(exchange: HttpExchange): Promise<void> {
  const body = await exchange.body.whole(1000)
  exchange.begin(`HTTP/1.1 200 OK\r\ncontent-length: ${viewOf(body).length}\r\n`, body)
  exchange.finish()
}

function subjectSeen(port: number): Promise<string> {
  const seen = Promise.withResolvers<string>()
  const socket = connect({ host: hostname, port, ca: authority.certPem }, () => {
    seen.resolve(String(socket.getPeerCertificate().subject.CN))
    socket.destroy()
  })
  socket.once('error', seen.reject)
  return seen.promise
}

test('a certificate is replaced under load without a failed request', async () => {
  const server = start((exchange) => void echo(exchange), 'turn 0')
  let stop = false
  const counts = { good: 0, bad: 0 }
  const client = async (keepAlive: boolean) => {
    const session = new Bun.FetchSession({
      tls: { ca: authority.certPem },
      keepAlive,
      proxy: false,
    })
    while (!stop) {
      try {
        const response = await session.fetch(server.url, { method: 'POST', body: 'x' })
        counts[(await response.text()) === 'x' ? 'good' : 'bad']++
      } catch {
        counts.bad++
      }
    }
  }
  const clients = Array.from({ length: 12 }, (_, index) => client(index % 2 === 0))
  for (let turn = 1; turn <= 6; turn++) {
    await server.replaceTls(issue(`turn ${turn}`))
    expect(await subjectSeen(server.port)).toBe(`turn ${turn}`)
  }
  stop = true
  await Promise.all(clients)
  await server.stop(1000)
  expect(counts.bad).toBe(0)
  expect(counts.good).toBeGreaterThan(20)
}, 240_000)

test('an answer started under the old certificate completes', async () => {
  const release = Promise.withResolvers<void>()
  const server = start((exchange) => {
    exchange.begin('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n')
    exchange.write(Buffer.from('begin '))
    void release.promise.then(() => {
      exchange.write(Buffer.from('end'))
      exchange.finish()
    })
  }, 'old')
  const response = await fetch(server.url, { tls: { ca: authority.certPem } })
  await server.replaceTls(issue('new'))
  const stopping = server.stop(10_000)
  release.resolve()
  expect(await response.text()).toBe('begin end')
  expect(await stopping).toEqual({ cut: 0 })
})

test('a pair that does not fit together is refused and the old one stays', async () => {
  const server = start((exchange) => void echo(exchange), 'kept')
  const mixed = { certPem: issue('other').certPem, keyPem: issue('another').keyPem }
  expect(await rejection(server.replaceTls(mixed))).toMatchObject({ code: 'certificate_unusable' })
  expect(await subjectSeen(server.port)).toBe('kept')
  await server.replaceTls(issue('good again'))
  expect(await subjectSeen(server.port)).toBe('good again')
  await server.stop(0)
})

test('a TLS server refuses a busy port like any other', async () => {
  const first = start((exchange) => void echo(exchange), 'first')
  const again = { hostname, port: first.port, tls: issue('second'), limits }
  const begin = (exchange: HttpExchange) => void echo(exchange)
  expect(() => serveHttp({ ...again, begin, refuse: begin })).toThrow('is in use')
  await first.stop(0)
})

test('on Linux the newest listener is preferred by the kernel', async () => {
  const server = start((exchange) => void echo(exchange), 'any')
  expect(preferNewestListener(server.port)).toBe(process.platform === 'linux')
  expect(preferNewestListener(1)).toBe(false)
  await server.stop(0)
})

/** The suite negotiated by a TLS 1.2 client that offers only these. */
function agreedOn(port: number, ciphers: string): Promise<string> {
  const agreed = Promise.withResolvers<string>()
  const offer = { ca: authority.certPem, maxVersion: 'TLSv1.2', ciphers } as const
  const socket = connect({ host: hostname, port, ...offer }, () => {
    agreed.resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
    socket.destroy()
  })
  socket.once('error', () => agreed.resolve('refused'))
  socket.once('close', () => agreed.resolve('refused'))
  return agreed.promise
}

test('TLS 1.2 offers authenticated encryption only, no CBC with SHA-1', async () => {
  const server = start((exchange) => void echo(exchange), 'suites')
  const either = (suite: string) => `ECDHE-ECDSA-${suite}:ECDHE-RSA-${suite}`
  for (const suite of ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']) {
    expect(await agreedOn(server.port, either(suite))).toMatch(`TLSv1.2 ECDHE-`)
  }
  for (const suite of ['AES128-SHA', 'AES256-SHA']) {
    expect([suite, await agreedOn(server.port, either(suite))]).toEqual([suite, 'refused'])
    expect([suite, await agreedOn(server.port, suite)]).toEqual([suite, 'refused'])
  }
  await server.stop(0)
})
