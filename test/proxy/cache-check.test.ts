/** The cache canary through a real proxy: as a command and in the background, on both kinds of engine. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { httpProbe, runCanary } from '@privatemode/sdk/canary'
import { cacheCommand } from '../../apps/verify/src/cache/cache-command.ts'
import { connectHttpEngine } from '../../packages/inference/src/servers/http-engine.ts'
import { fetchOf } from '../../packages/inference/src/testing/answer-fetch.ts'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { storyEngine } from '../story-model.ts'
import { type ProxyProcess, startProxy } from './proxy-process.ts'

async function runCommand(proxy: ProxyProcess, ...args: string[]) {
  const lines: string[] = []
  const output = {
    out: (line: string) => lines.push(line),
    error: (line: string) => lines.push(line),
  }
  const code = await cacheCommand.run(['--url', proxy.url, '--json', ...args], output)
  return { code, report: JSON.parse(lines[0]!) }
}

describe('a model server behind a worker', () => {
  let server: ScriptedServer
  let system: System
  beforeAll(async () => {
    server = startScriptedServer({ cache: 'salted' })
    // Accepted unseen: a worker would refuse the server that it becomes below.
    const engine = await connectHttpEngine(
      { baseUrl: server.url, apiKey: undefined, acceptSharedCache: true },
      { fetch, now: () => new Date(), onHealth: () => {} },
    )
    system = await startSystem({ engines: [engine] })
  }, 150_000)
  afterAll(async () => {
    await system?.stop()
    await server?.stop()
  }, 240_000)

  test('the command finds isolation, also between requests without a salt', async () => {
    const proxy = await startProxy(system, { args: ['--apiKey', system.apiKey] })
    const { code, report } = await runCommand(proxy, '--model', 'scripted', '--rounds', '4')
    expect([code, report.verdict]).toEqual([0, 'isolates'])
    const hits = report.comparisons.map((one: { probe: string; hits: number }) => [
      one.probe,
      one.hits,
    ])
    expect(hits).toEqual([
      ['sameSalt', 4],
      ['otherSalt', 0],
      ['noSalt', 0],
    ])
    await proxy.stop()
  })

  test('with a shared cache of the proxy, requests without a salt are expected to share', async () => {
    const args = ['--apiKey', system.apiKey, '--sharedPromptCache']
    const proxy = await startProxy(system, { args })
    const asked = ['--model', 'scripted', '--rounds', '2', '--no-salt']
    expect((await runCommand(proxy, ...asked, 'shared')).code).toBe(0)
    expect((await runCommand(proxy, ...asked, 'apart')).code).toBe(1)
    await proxy.stop()
  })

  test('in the background: log line, metric, page and verification, and an alarm when it shares', async () => {
    const args = ['--apiKey', system.apiKey, '--metrics', '--cacheCheckMinutes', '60']
    const read = async (proxy: ProxyProcess, path: string) => (await fetch(proxy.url + path)).text()
    for (const [cache, verdict, message] of [
      ['salted', 'isolates', 'prompt caches checked'],
      ['shared', 'shares', 'the backend shares prompt caches'],
    ] as const) {
      server.change({ cache })
      const proxy = await startProxy(system, { args })
      const line = await proxy.logged(message, `outcome=${verdict}`)
      expect(line).toContain(verdict === 'shares' ? 'level=ERROR' : 'level=INFO')
      const { cache_checks } = JSON.parse(await read(proxy, '/privatemode/v1/verification'))
      expect(cache_checks).toMatchObject([{ model: 'scripted', verdict, rounds: 16 }])
      expect(await read(proxy, '/metrics')).toContain(
        `privatemode_proxy_cache_verdict{model="scripted",verdict="${verdict}"} 1`,
      )
      expect(await read(proxy, '/')).toContain('Prompt caches')
      const sent = server.requests.map(({ body }) => body)
      for (const secret of sent.flatMap((body) => [body.cache_salt, contentOf(body)])) {
        if (typeof secret === 'string') expect(proxy.log().includes(secret)).toBe(false)
      }
      await proxy.stop()
    }
  }, 240_000)

  test('off by default: nothing is sent and nothing is shown', async () => {
    const before = server.requests.length
    const proxy = await startProxy(system, { args: ['--apiKey', system.apiKey] })
    const response = await fetch(`${proxy.url}/privatemode/v1/verification`)
    expect(await response.json()).not.toHaveProperty('cache_checks')
    await proxy.stop()
    expect(server.requests.length).toBe(before)
  })
})

const contentOf = (body: Record<string, unknown>) =>
  (body.messages as { content: string }[] | undefined)?.[0]?.content

test('the embedded engine isolates', async () => {
  const engine = await storyEngine()
  const fetch = fetchOf(engine)
  const target = { url: 'http://worker', model: 'stories', apiKey: undefined, fetch }
  const report = await runCanary({ ask: httpProbe(target), rounds: 2, words: 25 })
  expect([report.verdict, report.basis]).toEqual(['isolates', 'reports'])
  expect(report.comparisons.map(({ hits }) => hits)).toEqual([2, 0, 0])
  await engine.close()
}, 240_000)
