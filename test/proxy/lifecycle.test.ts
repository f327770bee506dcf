/** Events while requests run: renewed certificates, signals, workers that come and go. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { createTestAuthority } from '@privatemode/service/testing'
import { rejection } from '../rejection.ts'
import { shortShapes } from '../shape/short-shapes.ts'
import { startProxy } from './proxy-process.ts'
import {
  chat,
  chatPath,
  errorOf,
  post,
  type ScriptedSystem,
  startScriptedSystem,
  story,
} from './scripted-system.ts'

let scripted: ScriptedSystem
let keyArgs: string[]

beforeAll(async () => {
  scripted = await startScriptedSystem({ shapeOf: shortShapes })
  keyArgs = ['--apiKey', scripted.system.apiKey]
}, 150_000)
// What a test that failed would leave would fail the next.
afterEach(() => {
  scripted.hooks.before = undefined
  scripted.hooks.beforeChunk = undefined
})
afterAll(() => scripted.system.stop(), 90_000)

describe('TLS', () => {
  test('the proxy serves HTTPS and picks up a renewed certificate under load without a failed request', async () => {
    const authority = createTestAuthority('Local CA')
    const folder = mkdtempSync(join(tmpdir(), 'privatemode-tls-'))
    const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const install = (subject: string) => {
      const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1'], subject)
      writeFileSync(`${certPath}.new`, certPem)
      writeFileSync(`${keyPath}.new`, keyPem, { mode: 0o600 })
      renameSync(`${keyPath}.new`, keyPath)
      renameSync(`${certPath}.new`, certPath)
    }
    install('before')
    const tlsArgs = ['--tlsCertPath', certPath, '--tlsKeyPath', keyPath]
    const proxy = await startProxy(scripted.system, { args: [...keyArgs, ...tlsArgs] })
    expect(proxy.url).toStartWith('https://')
    expect(await subjectSeen(proxy.port, authority.certPem)).toBe('before')

    let stop = false
    const counts = { good: 0, bad: 0 }
    const client = async (stream: boolean, keepalive: boolean) => {
      const session = new Bun.FetchSession({
        tls: { ca: authority.certPem },
        keepAlive: keepalive,
        proxy: false,
      })
      while (!stop) {
        try {
          const response = await session.fetch(proxy.url + chatPath, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: chat({ stream }),
          })
          const text = await response.text()
          counts[text.includes('upon ') ? 'good' : 'bad']++
        } catch {
          counts.bad++
        }
      }
    }
    const clients = [
      client(true, true),
      client(false, true),
      client(true, false),
      client(false, false),
    ]
    install('after')
    await proxy.logged('TLS certificate replaced')
    expect(await subjectSeen(proxy.port, authority.certPem)).toBe('after')
    await until(() => counts.good > 10)
    stop = true
    await Promise.all(clients)
    expect(counts.bad).toBe(0)
    expect(counts.good).toBeGreaterThan(10)

    writeFileSync(certPath, authority.issue(['localhost'], 'mismatched').certPem)
    await proxy.logged('renewed TLS certificate is unusable')
    expect(await subjectSeen(proxy.port, authority.certPem)).toBe('after')
    await proxy.stop()
  }, 240_000)
})

describe('SIGTERM and SIGINT', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s finishes every stream in flight, refuses new connections and ends with 0',
    async (signal) => {
      const release = Promise.withResolvers<void>()
      let waiting = 0
      let whole = 0
      scripted.hooks.beforeChunk = async (index) => {
        if (index !== 1) return
        waiting++
        await release.promise
      }
      const proxy = await startProxy(scripted.system, { args: keyArgs })
      const requests = Array.from({ length: 20 }, async (_, index) => {
        const stream = index % 2 === 0
        const text = await (await post(proxy, chatPath, chat({ stream }))).text()
        if (!stream) whole++
        return text
      })
      // Whole answers are not chunked by the engine, so only the streams wait.
      await until(() => waiting === 10 && whole === 10)
      proxy.signal(signal)
      await proxy.logged('stopping')
      const anew = new Bun.FetchSession({ keepAlive: false, proxy: false })
      expect(await rejection(anew.fetch(`${proxy.url}/health`))).toMatchObject({
        code: 'ECONNREFUSED',
      })
      release.resolve()
      for (const text of await Promise.all(requests)) expect(text).toContain('upon ')
      expect(await proxy.exited).toBe(0)
      expect(proxy.log()).not.toContain('cut')
    },
    240_000,
  )

  test('requests that do not end within --drainSeconds are cut, and a stream shows it', async () => {
    scripted.hooks.beforeChunk = (index) => (index === 1 ? new Promise(() => {}) : undefined)
    const args = [...keyArgs, '--drainSeconds', '1']
    const proxy = await startProxy(scripted.system, { args })
    const response = await post(proxy, chatPath, chat({ stream: true }))
    const read = response.text().catch((error: unknown) => error)
    proxy.signal('SIGTERM')
    await proxy.logged('aborted requests at the end of the drain time')
    const end = await read
    expect(end instanceof Error || !String(end).includes('[DONE]')).toBe(true)
    expect(await proxy.exited).toBe(0)
  }, 240_000)
})

describe('workers', () => {
  test('one that disappears before the first byte is replaced by another, unnoticed by the client', async () => {
    const second = await scripted.system.addWorker()
    const proxy = await startProxy(scripted.system, { args: keyArgs })
    await until(async () => {
      const facts = (await (await fetch(`${proxy.url}/ready`)).json()) as {
        verified_workers: number
      }
      return facts.verified_workers === 2
    })
    await second.stop()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(proxy, chatPath, chat({ stream: true }))),
    )
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(await answer.text()).toEndWith('data: [DONE]\n\n')
    }
    await proxy.stop()
  }, 240_000)

  test('an unavailable backend is a clear error that may be retried', async () => {
    const proxy = await startProxy(scripted.system, {
      args: ['--apiEndpoint', 'http://127.0.0.1:1', ...keyArgs],
      cold: true,
    })
    const response = await post(proxy, chatPath, chat())
    expect(response.status).toBe(502)
    expect((await errorOf(response)).error.code).toBe('gateway_unreachable')
    expect(response.headers.get('x-should-retry')).toBeNull()
    expect((await fetch(`${proxy.url}/ready`)).status).toBe(503)
    await proxy.stop()
  })
})

test('the answer is the same through HTTP and the flags that do not change it', async () => {
  const flags = ['--vendorOCSPAllowUnknown=false', '--vendorOCSPRevokedGracePeriod', '0']
  const shapes = ['off', 'default', 'strict'].map(async (shape) => {
    const args = [...keyArgs, ...flags, '--trafficShape', shape]
    const proxy = await startProxy(scripted.system, { args })
    const text = await (await post(proxy, chatPath, chat())).text()
    await proxy.stop()
    return text
  })
  for (const text of await Promise.all(shapes)) expect(text).toContain(story)
}, 240_000)

function subjectSeen(port: number, ca: string): Promise<string> {
  const seen = Promise.withResolvers<string>()
  const socket = connect({ host: '127.0.0.1', port, ca }, () => {
    seen.resolve(String(socket.getPeerCertificate().subject.CN))
    socket.destroy()
  })
  socket.once('error', seen.reject)
  return seen.promise
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 45_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error('waited in vain')
    await Bun.sleep(20)
  }
}
