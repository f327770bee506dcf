/** What the proxy writes: log, metrics, dumps, manifests; content only where it belongs. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { freePort, unlessMissing } from '@privatemode/service/testing'
import { type ProxyProcess, spawnProxy, startProxy, systemArgs } from './proxy-process.ts'
import {
  canary,
  chat,
  chatPath,
  post,
  type ScriptedSystem,
  startKeyedProxy,
  startScriptedSystem,
  story,
} from './scripted-system.ts'

let scripted: ScriptedSystem
let keyed: ProxyProcess

beforeAll(async () => {
  scripted = await startScriptedSystem()
  keyed = await startKeyedProxy(scripted)
}, 150_000)

afterAll(async () => {
  await keyed.stop()
  await scripted.system.stop()
}, 240_000)

test('the log has a line per request and never content, keys or salts', async () => {
  const salt = `${canary}-${'s'.repeat(40)}`
  const response = await post(keyed, chatPath, chat({ cache_salt: salt }), {
    authorization: `Bearer ${canary}-key`,
    'x-secret-path': `/home/${canary}`,
  })
  await response.arrayBuffer()
  const line = await keyed.logged(String(response.headers.get('request-id')))
  for (const part of [
    'route=/v1/chat/completions',
    'model=org/chat-1',
    'status=200',
    'elapsedMs=',
  ]) {
    expect(line).toContain(part)
  }
  await post(keyed, `/v1/${canary}`, canary)
  expect(keyed.log()).not.toContain(canary)
  expect(keyed.log()).not.toContain(scripted.system.apiKey)
  expect(await (await fetch(`${keyed.url}/metrics`)).text()).not.toContain(canary)
})

describe('flags of the log', () => {
  test('--log-format json and a level as a number', async () => {
    const args = ['--log-format', 'json', '--log-level', '-4', '--apiKey', scripted.system.apiKey]
    const proxy = await startProxy(scripted.system, { args, cold: true })
    await proxy.logged('"msg":"ready"')
    for (const line of proxy.log().trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({
        time: expect.any(String),
        level: expect.any(String),
      })
    }
    await proxy.stop()
  })

  test('--log-level error logs nothing while all is well', async () => {
    const proxy = await startProxy(scripted.system, {
      args: ['-l', 'error'],
      cold: true,
      port: freePort(),
    })
    await untilListening(proxy)
    expect(proxy.log()).toBe('')
    await proxy.stop()
  })
})

test('the environment alone is enough to start it', async () => {
  const { system } = scripted
  const [, , , manifestPath = ''] = systemArgs(system)
  const keyPath = join(system.folder, 'key-of-variable')
  writeFileSync(keyPath, `${system.apiKey}\n`, { mode: 0o600 })
  const proxy = await spawnProxy([], {
    cold: true,
    env: {
      PRIVATEMODE_PROXY_API_ENDPOINT: system.gatewayUrl,
      PRIVATEMODE_PROXY_API_KEY: `@${keyPath}`,
      PRIVATEMODE_PROXY_MANIFEST_PATH: manifestPath,
      PRIVATEMODE_PROXY_ALLOW_SOFTWARE_ATTESTATION: 'true',
      PRIVATEMODE_PROXY_SOFTWARE_ROOT_FINGERPRINT: system.rootFingerprint,
      PRIVATEMODE_PROXY_NVIDIA_OCSP_ALLOW_UNKNOWN: 'false',
      PRIVATEMODE_PROXY_LOG_FORMAT: 'json',
      PRIVATEMODE_PROXY_METRICS: 'true',
    },
  })
  await proxy.logged('"msg":"ready"')
  expect((await post(proxy, chatPath, chat())).status).toBe(200)
  expect((await fetch(`${proxy.url}/metrics`)).status).toBe(200)
  await proxy.stop()
})

test('--dumpRequests writes pairs without keys, and warns at the start', async () => {
  const args = ['--dumpRequests', '--apiKey', scripted.system.apiKey]
  const proxy = await startProxy(scripted.system, { args })
  await proxy.logged('level=WARN', '--dumpRequests')
  const secret = { authorization: 'Bearer sk-client-secret' }
  await (await post(proxy, chatPath, chat(), secret)).text()
  await (await post(proxy, chatPath, chat({ stream: true }), secret)).text()
  await (await post(proxy, chatPath, '{', secret)).text()
  proxy.signal('SIGTERM')
  await proxy.exited
  const [day = ''] = readdirSync(join(proxy.workspace, 'requests'))
  const folder = join(proxy.workspace, 'requests', day)
  const files = readdirSync(folder)
  expect(files.filter((name) => name.endsWith('-request.txt'))).toHaveLength(3)
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  expect(text).toContain(canary)
  expect(text).toContain(story)
  expect(text).toContain('[DONE]')
  expect(text).not.toContain('sk-client-secret')
  for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  for (const path of [folder, join(folder, '..')]) expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(day).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(text).not.toContain(scripted.system.apiKey)
})

test('the workspace has the enforced manifest and since when', () => {
  const manifests = join(keyed.workspace, 'manifests')
  const log = readFileSync(join(manifests, 'log.txt'), 'utf8')
  const [time = '', name = ''] = log.trim().split(' ')
  expect(new Date(time).toISOString()).toBe(time)
  expect(readFileSync(join(manifests, name))).toEqual(Buffer.from(scripted.system.manifest))
  expect(existsSync(join(keyed.workspace, 'requests'))).toBe(false)
})

unlessMissing(existsSync('/dev/full') ? undefined : '/dev/full does not exist').test(
  'if the disk is full at a new manifest, the error says what to do, and nothing is sealed',
  async () => {
    const proxy = await startProxy(scripted.system) // it verifies with the first client's key
    const manifests = join(proxy.workspace, 'manifests')
    const files = readdirSync(join(keyed.workspace, 'manifests'))
    const name = files.find((file) => file.endsWith('.json')) ?? ''
    const authorization = { authorization: `Bearer ${scripted.system.apiKey}` }
    const askOnFullDisk = async (path: string) => {
      const half = join(manifests, `${name}.${proxy.pid}.new`)
      if (!existsSync(half)) symlinkSync('/dev/full', half) // as if the file system were
      const response = await post(proxy, path, chat(), authorization)
      return { status: response.status, body: await response.text() }
    }
    const remedy = `workspace ${proxy.workspace}: no space is left there; free some, or choose`
    const { status, body } = await askOnFullDisk(chatPath)
    expect(status).toBe(500)
    expect(JSON.parse(body).error).toMatchObject({ code: 'workspace_unwritable' })
    expect(body).toContain(remedy)
    const anthropic = await askOnFullDisk('/v1/messages')
    expect(JSON.parse(anthropic.body)).toMatchObject({ error: { type: 'api_error' } })
    expect(anthropic.body).toContain(remedy)
    await proxy.logged('level=ERROR', remedy)
    // There is room again: a worker that was not used is asked again after a moment.
    for (const end = Date.now() + 20_000; Date.now() < end; await Bun.sleep(100)) {
      if ((await post(proxy, chatPath, chat(), authorization)).status === 200) break
    }
    expect((await post(proxy, chatPath, chat(), authorization)).status).toBe(200)
    expect(readFileSync(join(manifests, 'log.txt'), 'utf8')).toContain(name)
    await proxy.stop()
  },
  240_000,
)

async function untilListening(proxy: ProxyProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const up = await fetch(`${proxy.url}/health`).then(
      () => true,
      () => false,
    )
    if (up) return
    await Bun.sleep(25)
  }
  throw new Error('the proxy does not listen')
}
