import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listen } from './listener.ts'
import { createOutbound } from './outbound.ts'
import { createTestAuthority } from './testing/certificates.ts'
import { startConnectProxy } from './testing/connect-proxy.ts'

const authority = createTestAuthority('Corp Inspection CA')
const folder = mkdtempSync(join(tmpdir(), 'outbound-'))
const bundle = join(folder, 'bundle.pem')
writeFileSync(bundle, authority.certPem)

const names = ['api.test', '127.0.0.1']
const server = listen({
  hostname: '127.0.0.1',
  port: 0,
  tls: authority.issue(names),
  handler: async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/elsewhere') return Response.redirect('https://other.test/', 302)
    if (pathname === '/never') return new Promise<Response>(() => {})
    return new Response(`hello ${await request.text()}`)
  },
})
const proxy = await startConnectProxy({ 'api.test:443': server.port })
afterAll(async () => {
  await proxy.stop()
  await server.stop({ graceMs: 0 })
})

async function failure(env: Record<string, string>, url: string, init?: RequestInit) {
  const outbound = createOutbound({ env, idleTimeoutMs: 5000 })
  try {
    const response = await outbound.fetch(url, init)
    return { code: 'none', message: await response.text() }
  } catch (error) {
    return error as { code: string; message: string }
  } finally {
    outbound.close()
  }
}

describe('certificates', () => {
  test('a bundle in SSL_CERT_FILE is trusted', async () => {
    const result = await failure({ SSL_CERT_FILE: bundle }, server.url)
    expect(result).toMatchObject({ code: 'none', message: 'hello ' })
  })

  test('without it the error names the unknown authority and the remedy', async () => {
    const { code, message } = await failure({}, server.url)
    expect(code).toBe('unknown_authority')
    expect(message).toContain('signed by an unknown authority ("Corp Inspection CA")')
    expect(message).toContain('set SSL_CERT_FILE to a PEM bundle')
  })

  test('through a proxy the error names the authority as well', async () => {
    const { code, message } = await failure({ https_proxy: proxy.url }, 'https://api.test/')
    expect(code).toBe('unknown_authority')
    expect(message).toContain('"Corp Inspection CA"')
  })

  test('a certificate for another name is refused', async () => {
    const url = server.url.replace('127.0.0.1', 'localhost')
    expect((await failure({ SSL_CERT_FILE: bundle }, url)).code).toBe('certificate_refused')
  })

  test('a bundle that is missing or not PEM is refused', () => {
    expect(() => createOutbound({ env: { SSL_CERT_FILE: join(folder, 'none') } })).toThrow(
      'mount the CA bundle there',
    )
    writeFileSync(join(folder, 'not.pem'), 'x')
    expect(() => createOutbound({ env: { SSL_CERT_FILE: join(folder, 'not.pem') } })).toThrow(
      'has no PEM certificate',
    )
  })
})

describe('a proxy', () => {
  const env = { SSL_CERT_FILE: bundle, https_proxy: proxy.url }

  test('gets a CONNECT by host name, and the request goes through the tunnel', async () => {
    const before = proxy.asked.length
    const result = await failure(env, 'https://api.test/', { method: 'POST', body: 'there' })
    expect(result.message).toBe('hello there')
    expect(proxy.asked.slice(before)).toEqual(['api.test:443'])
  })

  test('is bypassed for the hosts of no_proxy and for loopback', async () => {
    const before = proxy.asked.length
    await failure({ ...env, no_proxy: 'api.test' }, 'https://api.test/')
    await failure(env, server.url)
    expect(proxy.asked).toHaveLength(before)
  })

  test('that refuses the tunnel is named', async () => {
    const { code, message } = await failure(env, 'https://forbidden.test/')
    expect(code).toBe('tunnel_refused')
    expect(message).toContain(`through the proxy 127.0.0.1:${proxy.port}`)
  })
})

describe('failures', () => {
  test('have a code each', async () => {
    expect((await failure({}, 'https://127.0.0.1:1/')).code).toBe('connection_refused')
    expect((await failure({}, 'https://nowhere.invalid/')).code).toBe('host_unknown')
    const env = { SSL_CERT_FILE: bundle }
    const signal = AbortSignal.timeout(30)
    expect((await failure(env, `${server.url}/never`, { signal })).code).toBe('timeout')
  })

  test('a redirect is not followed', async () => {
    const outbound = createOutbound({ env: { SSL_CERT_FILE: bundle } })
    expect((await outbound.fetch(`${server.url}/elsewhere`)).status).toBe(302)
    outbound.close()
  })
})
