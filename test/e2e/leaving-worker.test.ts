/** A worker that leaves while another gateway still lists it. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
} from '@privatemode/attestation/software/producer'
import { createLog } from '@privatemode/service'
import { parseSettings, startWorker } from '@privatemode/worker'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'

test('a worker serves for as long as other gateways may send requests, then closes', async () => {
  const paused = Promise.withResolvers<number>()
  const over = Promise.withResolvers<void>()
  const registry = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ method }) {
      if (method === 'PUT') return Response.json({ lease_seconds: 600, drain: false })
      return Response.json({ left: true, linger_seconds: 4 })
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-leaving-'))
  try {
    const worker = await startWorker(await settings(folder, `http://127.0.0.1:${registry.port}`), {
      env: {},
      createEngine: async () => new ScriptedEngine(),
      log: createLog({ format: 'json', level: 100, write: () => {} }),
      pause(ms) {
        paused.resolve(ms)
        return over.promise
      },
    })
    const stopped = worker.stop()
    void stopped.then(() => paused.resolve(0))
    expect(await paused.promise).toBe(4_000)
    const health = () => fetch(`${worker.url}/health`, { keepalive: false })
    expect((await health()).status).toBe(200)
    over.resolve()
    await stopped
    expect(await health().catch((error) => error)).toBeInstanceOf(Error)
  } finally {
    await registry.stop(true)
    rmSync(folder, { recursive: true, force: true })
  }
}, 240_000)

async function settings(folder: string, gatewayUrl: string) {
  const at = new Date()
  const root = await createSoftwareRoot({ name: 'test root', at, days: 2 })
  const leaf = await issueSoftwareLeaf(root, { name: 'test worker', at, days: 1 })
  const identity = join(folder, 'leaf.json')
  writeFileSync(identity, await formatSoftwareIdentity(leaf), { mode: 0o600 })
  const models = join(folder, 'models.json')
  writeFileSync(models, '[{"id":"scripted","path":"none","task":"generate"}]')
  const parsed = parseSettings({
    args: [
      ...['--port', '0', '--gatewayUrl', gatewayUrl, '--modelsFile', models],
      ...['--softwareIdentity', identity, '--drainMs', '10000'],
    ],
    env: { PRIVATEMODE_WORKER_REGISTER_TOKEN: 'register-token-for-tests-0123456789abcdef' },
  })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  return parsed.settings
}
