/** Prompt caches: the modes of the interface, kept apart by key, as the worker sees them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestAuthority } from '@privatemode/service/testing'
import { type ProxyProcess, startProxy } from './proxy-process.ts'
import {
  chat,
  chatPath,
  errorOf,
  post,
  type ScriptedSystem,
  startScriptedSystem,
} from './scripted-system.ts'

let scripted: ScriptedSystem
let keyArgs: string[]
const folder = mkdtempSync(join(tmpdir(), 'privatemode-caching-'))

beforeAll(async () => {
  scripted = await startScriptedSystem()
  keyArgs = ['--apiKey', scripted.system.apiKey]
}, 150_000)
afterAll(() => scripted.system.stop(), 90_000)

/** The salt under which the worker ran the request. */
async function saltOf(
  proxy: Pick<ProxyProcess, 'url'>,
  over: object = {},
  headers: Record<string, string> = {},
  init: BunFetchRequestInit = {},
): Promise<string> {
  const response = await post(proxy, chatPath, chat(over), headers, init)
  expect(response.status).toBe(200)
  await response.arrayBuffer()
  return String(scripted.engine.calls.at(-1)?.body.cache_salt)
}

const own = 'o'.repeat(43)
const given = 'g'.repeat(43)

describe('a local proxy', () => {
  test('shares nothing by default: every request has a fresh salt', async () => {
    const proxy = await startProxy(scripted.system, { args: keyArgs })
    const salts = new Set([await saltOf(proxy), await saltOf(proxy), await saltOf(proxy)])
    expect(salts.size).toBe(3)
    for (const salt of salts) expect(Buffer.from(salt, 'base64').length).toBeGreaterThanOrEqual(32)
    expect(await saltOf(proxy, { cache_salt: own })).toBe(own)
    await proxy.stop()
  })

  test('--sharedPromptCache: one random salt until the restart; a salt in the request takes precedence', async () => {
    const args = [...keyArgs, '--sharedPromptCache']
    const [one, other] = await Promise.all([
      startProxy(scripted.system, { args }),
      startProxy(scripted.system, { args }),
    ])
    const salt = await saltOf(one)
    expect(await saltOf(one)).toBe(salt)
    expect(Buffer.from(salt, 'base64')).toHaveLength(32)
    expect(await saltOf(other)).not.toBe(salt)
    expect(await saltOf(one, { cache_salt: own })).toBe(own)
    await Promise.all([one.stop(), other.stop()])
  })

  test('--promptCacheSalt, literal or from a file: shared across proxies', async () => {
    const file = join(folder, 'salt')
    writeFileSync(file, `${given}\n`)
    const args = [...keyArgs, '--sharedPromptCache', '--promptCacheSalt']
    const [literal, fromFile] = await Promise.all([
      startProxy(scripted.system, { args: [...args, given] }),
      startProxy(scripted.system, { args: [...args, `@${file}`] }),
    ])
    expect(await saltOf(literal)).toBe(given)
    expect(await saltOf(fromFile)).toBe(given)
    expect(await saltOf(literal, { cache_salt: own })).toBe(own)
    await Promise.all([literal.stop(), fromFile.stop()])
  })

  test('without --apiKey two keys reach the backend separately, with separate salts', async () => {
    const second = await scripted.system.createKey('second')
    const proxy = await startProxy(scripted.system)
    const before = scripted.system.logs.gateway.length
    const salts = [
      await saltOf(proxy, {}, { authorization: `Bearer ${scripted.system.apiKey}` }),
      await saltOf(proxy, {}, { 'x-api-key': second }),
    ]
    expect(new Set(salts).size).toBe(2)
    const refs = new Set<string>()
    for (let wait = 0; wait < 1000 && refs.size < 2; wait++) {
      await Bun.sleep(10) // the gateway gathers its log for a moment
      const seen = scripted.system.logs.gateway.slice(before).join('')
      for (const [, ref = ''] of seen.matchAll(/"keyRef":"([^"]+)"/g)) refs.add(ref)
    }
    expect(refs.size).toBe(2)
    await proxy.stop()
  })

  test('--apiKey from a file', async () => {
    const file = join(folder, 'key')
    writeFileSync(file, `${scripted.system.apiKey}\n`, { mode: 0o600 })
    const proxy = await startProxy(scripted.system, { args: ['--apiKey', `@${file}`] })
    await saltOf(proxy)
    await proxy.stop()
  })
})

describe('the proxyless endpoint', () => {
  const authority = createTestAuthority('Proxyless CA')
  const trust: BunFetchRequestInit = { tls: { ca: authority.certPem } }
  let hosted: ProxyProcess
  let args: string[]

  beforeAll(async () => {
    const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1'])
    writeFileSync(join(folder, 'cert.pem'), certPem)
    writeFileSync(join(folder, 'key.pem'), keyPem)
    writeFileSync(join(folder, 'secret'), 'd'.repeat(64))
    writeFileSync(join(folder, 'deployment.json'), '{"deployed":true}')
    args = ['--hosted', '--hostedSaltSecret', `@${join(folder, 'secret')}`, '--trafficShape', 'off']
    args.push('--tlsCertPath', join(folder, 'cert.pem'), '--tlsKeyPath', join(folder, 'key.pem'))
    args.push('--hostedManifestPath', join(folder, 'deployment.json'))
    hosted = await startProxy(scripted.system, { args })
  }, 240_000)
  afterAll(() => hosted.stop())

  test('serves HTTPS, and every request needs its key', async () => {
    expect(hosted.url).toStartWith('https://')
    const response = await post(hosted, chatPath, chat(), {}, trust)
    expect(response.status).toBe(401)
    expect((await errorOf(response)).error.code).toBe('invalid_api_key')
  })

  test('derives the salt from the key: same key same cache, other key another, also after a restart', async () => {
    const second = await scripted.system.createKey('hosted second')
    const authorization = `Bearer ${scripted.system.apiKey}`
    const salt = await saltOf(hosted, {}, { authorization }, trust)
    expect(await saltOf(hosted, {}, { 'x-api-key': scripted.system.apiKey }, trust)).toBe(salt)
    expect(await saltOf(hosted, {}, { authorization: `Bearer ${second}` }, trust)).not.toBe(salt)
    expect(await saltOf(hosted, { cache_salt: own }, { authorization }, trust)).toBe(own)
    const again = await startProxy(scripted.system, { args })
    expect(await saltOf(again, {}, { authorization }, trust)).toBe(salt)
    await again.stop()
  })

  test('answers preflights without a key and lets any page read answers', async () => {
    const asked =
      'authorization, x-api-key, anthropic-version, anthropic-beta, content-type, ' +
      'anthropic-dangerous-direct-browser-access, x-stainless-lang, x-evil'
    const preflight = await fetch(hosted.url + chatPath, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': asked,
      },
      ...trust,
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    const allowed = preflight.headers.get('access-control-allow-headers') ?? ''
    expect(allowed).toBe(asked.replace(', x-evil', ''))
    const headers = { origin: 'https://app.example', 'x-api-key': scripted.system.apiKey }
    for (const body of [chat(), chat({ stream: true }), '{']) {
      const response = await post(hosted, chatPath, body, headers, trust)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('access-control-expose-headers')).toContain('retry-after')
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
      await response.arrayBuffer()
    }
  })

  test('publishes its deployment manifest', async () => {
    const response = await fetch(`${hosted.url}/privatemode/v1/deployment`, trust)
    expect(await response.json()).toEqual({ deployed: true })
  })

  test('answers under every host name', async () => {
    const headers = { host: 'api.anything.example' }
    expect((await fetch(`${hosted.url}/health`, { headers, ...trust })).status).toBe(200)
  })
})
