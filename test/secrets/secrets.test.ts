/** Sends marked secrets through the whole stack, including error paths; then searches every output. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { startLimitMs } from '../clients/client-stack.ts'
import { Entrance } from '../clients/entrance.ts'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import { runProxy, spawnProxy } from '../proxy/proxy-process.ts'
import { marked } from './marked.ts'
import { filesBelow, findLeaks, type Output } from './outputs.ts'
import { beginStream, provoke } from './provoke.ts'

const root = join(import.meta.dir, '../..')
const home = mkdtempSync(join(tmpdir(), 'privatemode-secrets-'))
let server: ScriptedServer
let stack: RunningStack
let proxy: Entrance
let proxyless: Entrance
let tokens: string[]

beforeAll(async () => {
  server = startScriptedServer()
  const args = ['--logLevel', 'debug', '--trafficShape', 'off'] // what is said does not depend on padding
  stack = await runStack(['--engineUrl', server.url, ...args], home)
  const { proxyUrl, proxylessUrl, apiKey, ca } = stack
  proxy = new Entrance('proxy', () => ({ url: proxyUrl, apiKey: undefined, ca: undefined }))
  proxyless = new Entrance('proxyless', () => ({ url: proxylessUrl, apiKey, ca }))
  tokens = ['admin-token', 'register-token'].map((name) =>
    readFileSync(join(home, 'keys', name), 'utf8'),
  )
}, startLimitMs)

afterAll(async () => {
  await stack.stop()
  await server.stop()
  rmSync(home, { recursive: true, force: true })
}, 240_000)

/** The keys themselves are stored in the home by design; everything else there is searched. */
async function outputsOfStack(): Promise<Output[]> {
  const shown = [
    `${stack.gatewayUrl}/metrics`,
    `${stack.proxyUrl}/privatemode/v1/verification`,
    `${stack.proxyUrl}/`,
    `${stack.proxyUrl}/ready`,
  ].map(async (url) => ({
    place: url,
    bytes: Buffer.from(await (await fetch(url)).arrayBuffer()),
  }))
  return [
    { place: 'what the stack prints', bytes: Buffer.from(stack.output()) },
    ...filesBelow(home, ['api-key', 'keys/']),
    ...(await Promise.all(shown)),
  ]
}

/** The whole key would be found by its end as well; the beginning is public. */
const secretPartOf = (apiKey: string) => apiKey.slice(apiKey.lastIndexOf('_') + 1)
const allSecrets = () => [...Object.values(marked), secretPartOf(stack.apiKey), ...tokens]

test('no output of any part contains content, keys or salts, whatever goes wrong', async () => {
  for (const entrance of [proxy, proxyless]) {
    const statuses = await provoke(entrance, server)
    for (const status of [200, 400, 413, 415, 404]) expect(statuses).toContain(status)
    expect(statuses.some((status) => status >= 500)).toBe(true)
  }
  const running = await beginStream(proxy)
  process.kill(stack.pidOf('worker'), 'SIGKILL')
  await running
  const outputs = await outputsOfStack()
  const places = outputs.map(({ place }) => place)
  for (const part of ['gateway', 'worker', 'proxy', 'proxyless']) {
    expect(places.some((place) => place.startsWith('logs/') && place.includes(part))).toBe(true)
  }
  expect(outputs.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeGreaterThan(100_000)
  expect(findLeaks(outputs, allSecrets())).toEqual([])
}, 120_000)

test('a planted leak is found, in a log and in a database file', async () => {
  const [log] = filesBelow(join(home, 'logs'))
  appendFileSync(join(home, 'logs', log!.place), `debug: ${btoa(`{"x":"${marked.user}"}`)}\n`)
  appendFileSync(join(home, 'planted.bin'), Buffer.from(marked.salt, 'utf16le'))
  const found = findLeaks(await outputsOfStack(), allSecrets())
  expect(found).toContainEqual(expect.objectContaining({ secret: marked.user, encoding: 'base64' }))
  expect(found).toContainEqual({ place: 'planted.bin', secret: marked.salt, encoding: 'UTF-16 LE' })
}, 240_000)

test('a proxy that refuses its backend reveals nothing about the request', async () => {
  const { endpoint, logKey } = JSON.parse(readFileSync(join(home, 'client.json'), 'utf8'))
  const args = ['--apiEndpoint', endpoint, '--manifestLogKey', logKey, '--allowSoftwareAttestation']
  const wrong = ['--softwareRootFingerprint', 'ab'.repeat(32), '--log-level', 'debug', '--metrics']
  const refusing = await spawnProxy([...args, ...wrong, '--apiKey', marked.wrongKey], {
    cold: true,
  })
  const entrance = new Entrance('refusing', () => ({
    url: refusing.url,
    apiKey: undefined,
    ca: undefined,
  }))
  const body = { model: 'scripted', messages: [{ role: 'user', content: marked.prompt }] }
  const { status } = await entrance.ask('/v1/chat/completions', body)
  expect(status).toBeGreaterThanOrEqual(400)
  const metrics = await entrance.fetch('/metrics')
  const outputs = [
    { place: 'log', bytes: Buffer.from(refusing.log()) },
    { place: 'metrics', bytes: Buffer.from(await metrics.arrayBuffer()) },
    ...filesBelow(refusing.workspace),
  ]
  await refusing.stop()
  expect(findLeaks(outputs, allSecrets())).toEqual([])
}, 240_000)

test('dumped requests contain no keys, and content is nowhere else in the workspace', async () => {
  const { endpoint, logKey, softwareRoot } = JSON.parse(
    readFileSync(join(home, 'client.json'), 'utf8'),
  )
  const args = ['--apiEndpoint', endpoint, '--manifestLogKey', logKey, '--allowSoftwareAttestation']
  const dumping = await spawnProxy(
    [...args, '--softwareRootFingerprint', softwareRoot, '--dumpRequests', '-l', 'debug'],
    { cold: true },
  )
  const entrance = new Entrance('dumping', () => ({
    url: dumping.url,
    apiKey: stack.apiKey,
    ca: undefined,
  }))
  const body = { model: 'scripted', messages: [{ role: 'user', content: marked.user }] }
  const cookie = { ...entrance.auth, cookie: marked.header, 'x-api-key': stack.apiKey }
  await entrance.ask('/v1/chat/completions', body, cookie)
  await entrance.ask('/v1/chat/completions', body, { 'x-api-key': marked.wrongKey })
  const log = { place: 'log', bytes: Buffer.from(dumping.log()) }
  dumping.signal('SIGTERM')
  await dumping.exited
  const files = filesBelow(dumping.workspace)
  await dumping.stop()
  const keys = [secretPartOf(stack.apiKey), marked.wrongKey, marked.header]
  expect(findLeaks([log, ...files], keys)).toEqual([])
  const outside = files.filter(({ place }) => !place.startsWith('requests/'))
  expect(findLeaks([log, ...outside], [marked.user])).toEqual([])
  expect(findLeaks(files, [marked.user])).not.toEqual([])
}, 240_000)

test('an invalid command line is not echoed with its secrets', async () => {
  const secret = marked.wrongKey
  const said = [
    await runProxy(['--apiKey', secret, '--no-such-flag']),
    await runProxy([`--apiKey=${secret}`, '--port', 'none']),
    await runProxy(['--hosted', '--hostedSaltSecret', secret, '--apiKey', secret]),
    await runProxy(['--port', 'none'], { PRIVATEMODE_PROXY_API_KEY: secret }),
  ].map(({ stdout, stderr }) => stdout + stderr)
  const programs: [string, string[]][] = [
    ['gateway', ['--adminToken', secret, '--no-such-flag']],
    ['gateway', ['--adminToken', secret, '--databaseUrl', `postgres://u:${secret}@[bad`]],
    ['worker', ['--registerToken', secret, '--no-such-flag']],
    ['worker', [`--registerToken=${secret}`, '--port', 'none']],
  ]
  for (const [app, args] of programs) {
    const main = join(root, `apps/${app}/src/main.ts`)
    const { stdout, stderr } = Bun.spawnSync([process.execPath, main, ...args], { timeout: 90_000 })
    said.push(`${stdout}${stderr}`)
  }
  for (const text of said) expect(text.length).toBeGreaterThan(5)
  const outputs = said.map((text, index) => ({ place: `${index}`, bytes: Buffer.from(text) }))
  expect(findLeaks(outputs, [secret])).toEqual([])
}, 120_000)

unlessMissing(process.platform === 'linux' ? undefined : 'only Linux has /proc').test(
  'no part leaves a core dump',
  () => {
    for (const part of ['gateway', 'worker', 'proxy', 'proxyless'] as const) {
      const limits = readFileSync(`/proc/${stack.pidOf(part)}/limits`, 'utf8')
      expect([part, /core file size +(\S+) +(\S+)/.exec(limits)?.slice(1, 3)]).toEqual([
        part,
        ['0', '0'],
      ])
    }
  },
)
