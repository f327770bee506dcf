/** How each path isolates callers is logged at the start of a worker and shown by its metrics. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@privatemode/service'
import { startScriptedServer } from '../../../packages/inference/src/testing/scripted-server.ts'
import { chooseEngine } from './choose-engine.ts'
import { runCommand } from './commands.ts'
import { parseSettings } from './settings.ts'
import { startWorker } from './worker.ts'

test('a worker logs and reports which paths are proven, trusted or unused', async () => {
  const server = startScriptedServer({ models: ['tiny'], lacksPaths: ['/v1/completions'] })
  const registry = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ method }) =>
      Response.json(method === 'PUT' ? { lease_seconds: 600, drain: false } : { left: true }),
  })
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-isolation-'))
  const lines: string[] = []
  try {
    const identity = join(folder, 'identity.json')
    await runCommand(['identity', '--out', identity], {}, new Date())
    const parsed = parseSettings({
      args: [
        ...['--port', '0', '--metricsPort', '0', '--gatewayUrl', registry.url.origin],
        ...['--engineUrl', server.url, '--softwareIdentity', identity],
      ],
      env: { PRIVATEMODE_WORKER_REGISTER_TOKEN: 'register-token-for-tests-0123456789abcdef' },
    })
    if (parsed.kind !== 'settings') throw new Error('no settings')
    const worker = await startWorker(parsed.settings, {
      env: {},
      createEngine: chooseEngine,
      log: createLog({ format: 'json', level: 0, write: (text) => void lines.push(text) }),
    })
    try {
      const logged = lines
        .join('')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => msg === 'prompt cache isolation')
        .map(({ model, route, outcome }) => `${model} ${route} ${outcome}`)
      expect(logged).toContain('tiny chat proven')
      expect(logged).toContain('tiny completions unused')
      const metrics = await (await fetch(`${worker.metricsUrl}/metrics`)).text()
      for (const [endpoint, state] of [
        ['chat', 'proven'],
        ['completions', 'unused'],
      ])
        expect(metrics).toContain(
          `privatemode_worker_cache_isolation{model="tiny",endpoint="${endpoint}",state="${state}"} 1`,
        )
    } finally {
      await worker.stop()
    }
  } finally {
    await registry.stop(true)
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}, 120_000)
