import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startScriptedServer } from '../../../packages/inference/src/testing/scripted-server.ts'
import { thrown } from '../../../test/rejection.ts'
import { chooseEngine } from './choose-engine.ts'
import { workerCapacity } from './engine-settings.ts'
import { parseSettings } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-models-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const chat = { id: 'chat', path: '/models/chat.gguf', task: 'generate' }

function engineOf(models: unknown, ...args: string[]) {
  const path = join(folder, 'models.json')
  writeFileSync(path, JSON.stringify(models))
  return read('--modelsFile', path, ...args)
}

function read(...args: string[]) {
  const parsed = parseSettings({ args: ['--softwareIdentity', 'none', ...args], env: {} })
  if (parsed.kind !== 'settings') throw new Error(parsed.kind)
  return parsed.settings.engine
}

const log = { debug() {}, info() {}, warn() {}, error() {}, flush() {} }

test('threads, cache and queue length of the embedded engine can be set', () => {
  expect(engineOf([chat])).toEqual({
    kind: 'embedded',
    models: [chat],
    threads: undefined,
    promptCacheBytes: 128 * 1024 * 1024,
    maxWaiting: 64,
  } as never)
  const args = ['--engineThreads', '3', '--promptCacheMib', '1024', '--maxWaiting', '9']
  const set = { threads: 3, promptCacheBytes: 1024 ** 3, maxWaiting: 9 }
  expect(engineOf([chat], ...args)).toMatchObject(set)
})

test('a model has its digest, context and sequences', () => {
  const sha256 = 'ab'.repeat(32)
  const entry = { ...chat, display_name: 'Chat', sha256, context_length: 512, sequences: 2 }
  const expected = { ...chat, displayName: 'Chat', sha256, contextLength: 512, sequences: 2 }
  expect(engineOf([entry])).toMatchObject({ models: [expected] } as never)
})

test.each([
  [[], 'at least one model'],
  [[{ id: 'chat' }], 'needs id, path and task'],
  [[{ ...chat, sha256: 'AB'.repeat(32) }], 'not 64 lower-case hex digits'],
  [[{ ...chat, sha: 'ab'.repeat(32) }], 'unknown field sha'],
  [[{ ...chat, sequences: 0 }], 'not a positive integer'],
])('the models %j are refused', (models, reason) => {
  expect(() => engineOf(models)).toThrow(reason)
})

test('a models file that is missing, and one that is not JSON, are told apart', () => {
  expect(() => read('--modelsFile', '/nope')).toThrow(
    '--modelsFile names /nope, which cannot be read; check the path and its permissions',
  )
  const path = join(folder, 'broken.json')
  writeFileSync(path, '[{')
  expect(() => read('--modelsFile', path)).toThrow(`the models file ${path} is not valid JSON`)
})

test('an engine must be configured, and a model server has its own request limit', () => {
  expect(() => read()).toThrow('set --modelsFile')
  const choice = read('--engineUrl', 'http://x', '--engineRequests', '4000')
  expect(choice).toMatchObject({ kind: 'http', maxConcurrent: 4000 })
})

test('an invalid address is refused, and an unreachable server is named', async () => {
  expect(() => read('--engineUrl', 'localhost:8000')).toThrow('expected an address such as')
  const choice = read('--engineUrl', 'http://127.0.0.1:1')
  const failed = await thrown(chooseEngine(choice, log))
  expect(failed).toThrow('http://127.0.0.1:1: the model server cannot be reached')
})

test('a model server behind a Unix socket is used once it has loaded', async () => {
  const server = startScriptedServer({ models: ['tiny'] })
  const socket = join(folder, 'server.sock')
  let refusals = 0
  const relay = Bun.serve({
    unix: socket,
    fetch(request) {
      if (refusals++ === 0) return new Response('loading', { status: 503 })
      const { pathname } = new URL(request.url)
      return fetch(server.url + pathname, request)
    },
  })
  try {
    const atOnce = thrown(chooseEngine(read('--engineUrl', `unix:${socket}`), log))
    expect(await atOnce).toThrow(`unix:${socket}: the model server answers /v1/models with status`)
    refusals = 0
    const waiting = read('--engineUrl', `unix:${socket}`, '--engineWaitSeconds', '100')
    const engine = await chooseEngine(waiting, log)
    expect(engine.models().map(({ id }) => id)).toEqual(['tiny'])
    await engine.close()
  } finally {
    await relay.stop(true)
    await server.stop()
  }
})

test('a model server whose models are not on verity volumes as listed is not asked', async () => {
  const server = ['--engineUrl', 'http://127.0.0.1:1']
  const unbound = await thrown(chooseEngine(engineOf([chat], ...server), log))
  expect(unbound).toThrow('the model chat has no verity_root')
  // No folder of this system is on such a volume.
  const bound = engineOf([{ ...chat, path: folder, verity_root: 'ab'.repeat(32) }], ...server)
  const failed = await thrown(chooseEngine(bound, log))
  expect(failed).toThrow('is not on a volume with the root hash abab')
})

test('an error names a file that is not a model file', async () => {
  const path = join(folder, 'text.gguf')
  for (const content of ['hello', 'GGUF', 'GGUF with nonsense behind it']) {
    writeFileSync(path, content)
    const loading = chooseEngine(engineOf([{ ...chat, path }]), log)
    expect(await thrown(loading)).toThrow('is not a GGUF file')
  }
  const cut = join(folder, 'cut.gguf')
  writeFileSync(cut, Buffer.concat([Buffer.from('GGUF\x03\0\0\0'), Buffer.alloc(16)]))
  const loading = chooseEngine(engineOf([{ ...chat, path: cut }]), log)
  expect(await thrown(loading)).toThrow('truncated or damaged')
  const nowhere = chooseEngine(engineOf([{ ...chat, path: folder }]), log)
  expect(await thrown(nowhere)).toThrow('has no file at')
}, 240_000)

test('a worker does not start with a model file whose digest differs from the pinned one', async () => {
  const path = join(folder, 'other.gguf')
  writeFileSync(path, 'not what was pinned')
  const choice = engineOf([{ ...chat, path, sha256: '00'.repeat(32) }])
  expect(await thrown(chooseEngine(choice, log))).toThrow(/has SHA-256 [0-9a-f]{64}, expected 00/)
})

test('a worker announces to gateways how many requests its engine accepts before refusing', () => {
  const embedded = engineOf([chat, { ...chat, id: 'other' }], '--maxWaiting', '9')
  expect(workerCapacity(1024, embedded)).toBe(40)
  const served = read('--engineUrl', 'http://x', '--engineRequests', '400')
  expect(workerCapacity(10_000, served)).toBe(1600)
  expect(workerCapacity(1024, served)).toBe(1024)
})
