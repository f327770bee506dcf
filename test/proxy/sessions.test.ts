/** Two keys, one proxy: separate sessions and caches, as they arrive at the worker. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestAuthority } from '@privatemode/service/testing'
import { parsePrelude } from '../../packages/protocol/src/envelope/prelude.ts'
import { type Recording, startRecordingRelay } from '../blindness/recording-relay.ts'
import { startProxy } from './proxy-process.ts'
import {
  chat,
  chatPath,
  post,
  type ScriptedSystem,
  startScriptedSystem,
} from './scripted-system.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-sessions-'))
const authority = createTestAuthority('Sessions CA')
let scripted: ScriptedSystem
let wire: Recording
let keys: { readonly a: string; readonly b: string }

beforeAll(async () => {
  const tapWorker = (url: string) => {
    wire = startRecordingRelay(url)
    return wire.url
  }
  scripted = await startScriptedSystem({ tapWorker })
  keys = { a: scripted.system.apiKey, b: await scripted.system.createKey('second') }
}, 150_000)

afterAll(async () => {
  await scripted.system.stop()
  wire.stop()
}, 240_000)

type Seen = { readonly key: 'a' | 'b'; readonly session: string; readonly salt: string }

const sessionsOf = (seen: readonly Seen[], key: Seen['key']) =>
  new Set(seen.filter((one) => one.key === key).map(({ session }) => session))
const saltsOf = (seen: readonly Seen[], key: Seen['key']) =>
  new Set(seen.filter((one) => one.key === key).map(({ salt }) => salt))

/** What the worker gets of calls under both keys in turn, given in either header. */
async function callInTurn(url: string): Promise<Seen[]> {
  const seen: Seen[] = []
  for (const [index, key] of (['a', 'b', 'a', 'b', 'b', 'a'] as const).entries()) {
    const before = wire.bytes().length
    const secret = keys[key]
    const header = index % 2 === 0 ? { authorization: `Bearer ${secret}` } : { 'x-api-key': secret }
    const init = { tls: { ca: authority.certPem } }
    const response = await post({ url }, chatPath, chat(), header, init)
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    const arrived = wire.bytes().subarray(before)
    const prelude = parsePrelude(Uint8Array.from(arrived.subarray(arrived.indexOf('PMQ1'))))
    const session = Buffer.from(prelude?.recipients[0]?.encapsulation ?? []).toString('hex')
    expect(session).toHaveLength(2 * 1120)
    const salt = String(scripted.engine.calls.at(-1)?.body.cache_salt)
    seen.push({ key, session, salt })
  }
  return seen
}

describe('under two keys', () => {
  test('a local proxy has one session for each, and no shared cache', async () => {
    const proxy = await startProxy(scripted.system)
    const seen = await callInTurn(proxy.url)
    expect(sessionsOf(seen, 'a').size).toBe(1)
    expect(sessionsOf(seen, 'b').size).toBe(1)
    expect(sessionsOf(seen, 'a')).not.toEqual(sessionsOf(seen, 'b'))
    expect(new Set(seen.map(({ salt }) => salt)).size).toBe(seen.length)
    await proxy.stop()
  }, 240_000)

  test('the proxyless endpoint has one session and one cache for each', async () => {
    const { certPem, keyPem } = authority.issue(['localhost', '127.0.0.1'])
    writeFileSync(join(folder, 'cert.pem'), certPem)
    writeFileSync(join(folder, 'key.pem'), keyPem)
    const args = ['--hosted', '--hostedSaltSecret', 'd'.repeat(64), '--trafficShape', 'off']
    args.push('--tlsCertPath', join(folder, 'cert.pem'), '--tlsKeyPath', join(folder, 'key.pem'))
    const proxy = await startProxy(scripted.system, { args })
    const seen = await callInTurn(proxy.url)
    for (const of of [sessionsOf, saltsOf]) {
      expect(of(seen, 'a').size).toBe(1)
      expect(of(seen, 'b').size).toBe(1)
      expect(of(seen, 'a')).not.toEqual(of(seen, 'b'))
    }
    await proxy.stop()
  }, 240_000)

  test('no key reaches the worker', () => {
    const bytes = wire.bytes()
    for (const key of Object.values(keys)) expect(bytes.includes(key)).toBe(false)
  })
})
