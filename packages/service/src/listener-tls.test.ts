import { expect, test } from 'bun:test'
import { connect } from 'node:tls'
import { listen } from './listener.ts'
import { preferNewestListener } from './newest-listener.ts'
import { createTestAuthority } from './testing/certificates.ts'

const authority = createTestAuthority('Listener CA')
const hostname = '127.0.0.1'

function subjectSeen(port: number): Promise<string> {
  const seen = Promise.withResolvers<string>()
  const socket = connect({ host: hostname, port, ca: authority.certPem }, () => {
    const { CN } = socket.getPeerCertificate().subject
    seen.resolve(String(CN))
    socket.destroy()
  })
  socket.once('error', seen.reject)
  return seen.promise
}

test('a certificate is replaced under load without a failed request', async () => {
  const [first, second] = [
    authority.issue([hostname], 'first'),
    authority.issue([hostname], 'second'),
  ]
  const handler = async (request: Request) => new Response(await request.text())
  const server = listen({ hostname, port: 0, tls: first, handler, handoverMs: 100 })
  expect(await subjectSeen(server.port)).toBe('first')
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
    await server.replaceTls(turn % 2 === 1 ? second : first)
    expect(await subjectSeen(server.port)).toBe(turn % 2 === 1 ? 'second' : 'first')
  }
  stop = true
  await Promise.all(clients)
  await server.stop()
  expect(counts.bad).toBe(0)
  expect(counts.good).toBeGreaterThan(20)
}, 60_000)

test('a stream begun under the old certificate goes on to its end', async () => {
  const release = Promise.withResolvers<void>()
  const handler = () =>
    new Response(
      (async function* () {
        yield 'begin '
        await release.promise
        yield 'end'
      })(),
    )
  const tls = authority.issue([hostname], 'old')
  const server = listen({ hostname, port: 0, tls, handler, handoverMs: 1 })
  const response = await fetch(server.url, { tls: { ca: authority.certPem } })
  await server.replaceTls(authority.issue([hostname], 'new'))
  release.resolve()
  expect(await response.text()).toBe('begin end')
  await server.stop()
})

test('a pair that does not fit together is refused and the old one stays', async () => {
  const [one, other] = [authority.issue([hostname], 'one'), authority.issue([hostname], 'other')]
  const server = listen({ hostname, port: 0, tls: one, handler: () => new Response('ok') })
  const mixed = { certPem: other.certPem, keyPem: one.keyPem }
  await expect(server.replaceTls(mixed)).rejects.toMatchObject({ code: 'certificate_unusable' })
  expect(await subjectSeen(server.port)).toBe('one')
  await server.stop()
})

test('a TLS listener refuses a busy port like any other', async () => {
  const tls = authority.issue([hostname])
  const handler = () => new Response('ok')
  const first = listen({ hostname, port: 0, tls, handler })
  expect(() => listen({ hostname, port: first.port, tls, handler })).toThrow('is in use')
  await first.stop()
})

test('on Linux the newest listener is preferred by the kernel', async () => {
  const tls = authority.issue([hostname])
  const server = listen({ hostname, port: 0, tls, handler: () => new Response('ok') })
  expect(preferNewestListener(server.port)).toBe(process.platform === 'linux')
  expect(preferNewestListener(1)).toBe(false)
  await server.stop()
})
