/** Servers are identified, their models are tested, and those that mix caches are refused. */
import { describe, expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import { rejection, thrown } from '../../../../test/rejection.ts'
import type { Engine, JsonObject } from '../engine.ts'
import { closeAfterEach, connectTo, type Settings, serve } from '../testing/connected-engine.ts'
import type { ScriptedServerOptions } from '../testing/scripted-server.ts'
import { until } from '../testing/until.ts'
import { connectHttpEngine, type HttpEngineParts } from './http-engine.ts'

closeAfterEach()

const connect = (options: ScriptedServerOptions, settings?: Settings): Promise<Engine> =>
  connectTo(serve(options).url, settings)

const sharing = { acceptSharedCache: true }

const statesOf = (engine: Engine): Record<string, string> =>
  Object.fromEntries(engine.isolation?.().map(({ endpoint, state }) => [endpoint, state]) ?? [])

describe('discovery', () => {
  test.each([
    ['vllm', '0.27.1', 'http vllm 0.27.1'],
    ['sglang', '0.5.20', 'http sglang 0.5.20'],
    ['llama-server', 'b8681', 'http llama-server b8681'],
    ['ollama', '0.30.1', 'http ollama 0.30.1'],
    ['generic', '1', 'http generic'],
  ] as const)('a %s server is recognised', async (kind, version, name) => {
    const engine = await connect({ kind, version }, { acceptSharedCache: true })
    expect(engine.name).toBe(name)
    expect(engine.models()[0]).toMatchObject({ id: 'scripted' })
    expect(engine.models()[0]?.tasks).toContain('generate')
    expect(engine.models()[0]?.digest).toMatch(/^[0-9a-f]{64}$/)
  })

  test('vLLM with its Rust frontend is recognised, but not trusted by its version', async () => {
    const rust = { frontend: 'rust', version: '0.33.0' } as const
    const engine = await connect(rust)
    expect(engine.name).toBe('http vllm Rust frontend 0.33.0')
    expect(statesOf(engine)).toEqual({
      ...{ chat: 'proven', completions: 'proven' },
      ...{ messages: 'unused', responses: 'unused' },
    })
    const refusal = await rejection(connect({ ...rust, reportsCache: false }))
    expect(refusal).toMatchObject({
      message: expect.stringContaining('start it with --enable-prompt-tokens-details'),
    })
  })

  test('the base URL may include the API prefix or not', async () => {
    const server = serve({})
    for (const suffix of ['', '/', '/v1', '/v1/']) {
      const engine = await connectHttpEngine({ baseUrl: server.url + suffix })
      await engine.close()
    }
  })

  test('vision and context are detected, and the operator’s settings take precedence', async () => {
    for (const kind of ['vllm', 'llama-server', 'ollama'] as const)
      for (const vision of [true, false]) {
        const options = { kind, vision, contextLength: 3000 }
        const engine = await connect(options, { acceptSharedCache: true })
        expect(engine.models()[0]).toMatchObject({ vision, contextLength: 3000 })
      }
    const rust = await connect({ kind: 'vllm', frontend: 'rust', vision: true }, sharing)
    expect(rust.models()[0]).toMatchObject({ vision: false })
    const models = { scripted: { vision: true, contextLength: 77, digest: 'ab'.repeat(32) } }
    const engine = await connect({ vision: false }, { models })
    expect(engine.models()[0]).toMatchObject(models.scripted)
  })

  test('the picture that is tried is one for strict decoders', async () => {
    const server = serve({ kind: 'vllm', vision: true })
    await connectTo(server.url)
    const asked = JSON.stringify(server.requests.map(({ body }) => body))
    const png = Buffer.from(/data:image\/png;base64,([^"]+)/.exec(asked)?.[1] ?? '', 'base64')
    const names: string[] = []
    // A chunk has its length, its name, its data, and a checksum of the two last.
    for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
      const end = at + 8 + png.readUInt32BE(at)
      names.push(png.toString('latin1', at + 4, at + 8))
      expect(crc32(png.subarray(at + 4, end))).toBe(png.readUInt32BE(end))
    }
    expect(names).toEqual(['IHDR', 'IDAT', 'IEND'])
  })

  test('an unusable server is reported to the operator with the reason', async () => {
    const refuse = (status: number, body: unknown) => ({
      fetch: async () => Response.json(body, { status }),
      now: () => new Date(),
    })
    const at = { baseUrl: 'http://127.0.0.1:1' }
    const locked = connectHttpEngine(at, refuse(401, { error: 'SECRET' }))
    expect(await thrown(locked)).toThrow(
      '/v1/models with status 401: it requires a different API key',
    )
    const elsewhere = connectHttpEngine(at, refuse(404, {}))
    expect(await thrown(elsewhere)).toThrow('answers /v1/models with status 404')
    const lists = { data: [{ id: 'm', owned_by: 'vllm' }] }
    const isList = (url: string) => url.endsWith('/v1/models')
    const silent = connectHttpEngine(at, {
      now: () => new Date(),
      fetch: async (url) => Response.json(lists, { status: isList(url) ? 200 : 404 }),
    })
    expect(await thrown(silent)).toThrow('no model of the server answers chat, completions or emb')
  })

  test('a server with chat but without completions is used', async () => {
    const engine = await connect({ kind: 'generic', lacksPaths: ['/v1/completions'] }, sharing)
    expect(engine.models()[0]?.tasks).toContain('generate')
  })

  test('a server that lists no models is refused', async () => {
    expect(await rejection(connect({ models: [] }))).toMatchObject({
      ...{ code: 'engine_unavailable' },
      message: 'the model server lists no models at /v1/models',
    })
  })
})

test('an SGLang server is tried only with what it was started for', async () => {
  const cacheless = { kind: 'sglang', saysCacheless: true } as const
  for (const [embedModels, tasks, avoided] of [
    [['scripted'], ['embed'], '/v1/chat/completions'],
    [[], ['generate'], '/v1/embeddings'],
  ] as const) {
    const server = serve({ ...cacheless, embedModels: [...embedModels] })
    const engine = await connectTo(server.url)
    expect(engine.models()[0]?.tasks).toEqual([...tasks])
    expect(server.requests.map(({ path }) => path)).not.toContain(avoided)
  }
})

describe('cache isolation', () => {
  test('check 83: a server that isolates salts is accepted in any version', async () => {
    await connect({ cache: 'salted', version: '0.20.0' })
    await connect({ kind: 'sglang', cache: 'salted', version: '0.5.0' })
  })

  test('check 83: a server that shares its cache between salts is refused in any version', async () => {
    for (const kind of ['vllm', 'sglang'] as const)
      expect(await rejection(connect({ kind, cache: 'shared', version: '9.9.9' }))).toMatchObject({
        code: 'engine_unavailable',
        message: expect.stringContaining('shares its cache between salts'),
      })
  })

  test('check 83: a server that ignores salts on one of the paths is refused', async () => {
    for (const path of ['/v1/chat/completions', '/v1/completions'])
      expect(await rejection(connect({ dropsSaltOn: [path], version: '0.26.0' }))).toMatchObject({
        message: expect.stringContaining('shares its cache between salts'),
      })
  })

  test('check 83: a server that reports no hits is accepted only if its version is trusted', async () => {
    await connect({ reportsCache: false, version: '0.27.0' })
    await connect({ reportsCache: false, version: '1.0.0' })
    for (const options of [
      { version: '0.26.9' },
      { version: 'unknown' },
      { kind: 'sglang' as const, version: '9.0.0' },
    ])
      expect(await rejection(connect({ reportsCache: false, ...options }))).toMatchObject({
        message: expect.stringContaining('not known to isolate salts'),
      })
  })

  test('an SGLang server without a cache needs no proof, and no other server gets away with it', async () => {
    const cacheless = { reportsCache: false, saysCacheless: true, version: '0.5.23' }
    const engine = await connect({ kind: 'sglang', ...cacheless })
    expect(statesOf(engine)).toMatchObject({ chat: 'cache-off', completions: 'cache-off' })
    const embedding = await connect({ kind: 'sglang', ...cacheless, embedModels: ['scripted'] })
    expect(statesOf(embedding)).toEqual({ embeddings: 'cache-off' })
    for (const options of [
      { kind: 'vllm' as const, ...cacheless },
      { kind: 'sglang' as const, ...cacheless, saysCacheless: false },
    ])
      expect(await rejection(connect(options))).toMatchObject({
        message: expect.stringMatching(
          /start it with --enable-(prompt-tokens-details|cache-report)/,
        ),
      })
  })

  test('a refused probe proves nothing: the path is not used, or trusted by its version', async () => {
    const refusesLongOn = ['/v1/chat/completions']
    const old = { version: '0.26.0', refusesLongOn }
    const engine = await connect({ ...old, native: ['messages', 'responses'] })
    expect(statesOf(engine)).toEqual({
      ...{ chat: 'unused', completions: 'proven', embeddings: 'unused' },
      ...{ messages: 'proven', responses: 'proven' },
    })
    const body = { model: 'scripted', messages: [{ role: 'user', content: 'a' }], prompt: 'a' }
    const signal = new AbortController().signal
    const call = (endpoint: 'chat' | 'completions') =>
      engine.call({ endpoint, body, stream: false, signal })
    expect(await rejection(call('chat'))).toMatchObject({
      code: 'unsupported_value',
      message: expect.stringContaining('not proven to isolate callers'),
    })
    expect((await call('completions')).kind).toBe('complete')
    const trusted = await connect({ version: '0.27.0', refusesLongOn })
    expect(statesOf(trusted)).toMatchObject({ chat: 'trusted', completions: 'proven' })
    const all = ['/v1/chat/completions', '/v1/completions']
    expect(await rejection(connect({ version: '0.26.0', refusesLongOn: all }))).toMatchObject({
      message: expect.stringContaining('(the server refused a probe)'),
    })
  })

  test('each path reports how it isolates callers', async () => {
    const rest = { embeddings: 'trusted', messages: 'unused', responses: 'unused' }
    const proven = { chat: 'proven', completions: 'proven' }
    expect(statesOf(await connect({}))).toEqual({ ...proven, ...rest })
    const native = { native: ['messages', 'responses'] } as const
    const spoken = { messages: 'proven', responses: 'proven' }
    expect(statesOf(await connect(native))).toEqual({ ...proven, ...rest, ...spoken })
    const dropping = await connect({ ...native, dropsSaltOn: ['/v1/messages'], miscountsBy: 1 })
    expect(statesOf(dropping)).toMatchObject({ messages: 'unused', responses: 'proven' })
    const silent = await connect({ reportsCache: false })
    expect(statesOf(silent)).toEqual({ chat: 'trusted', completions: 'trusted', ...rest })
    const chatOnly = await connect({ lacksPaths: ['/v1/completions'] })
    expect(statesOf(chatOnly)).toMatchObject({ chat: 'proven', completions: 'unused' })
    const off = await connect({ kind: 'llama-server' })
    expect(statesOf(off)).toMatchObject({ chat: 'cache-off', embeddings: 'cache-off' })
    const accepted = await connect({ kind: 'ollama' }, sharing)
    expect(statesOf(accepted)).toMatchObject({ chat: 'accepted', completions: 'accepted' })
  })

  test('the probe fits a small context, and the first request is a normal one', async () => {
    const server = serve({ contextLength: 200, version: '0.20.0' })
    expect(statesOf(await connectTo(server.url))).toMatchObject({ chat: 'proven' })
    const [first] = server.requests
    expect(first?.path).toBe('/v1/chat/completions')
    expect(first?.promptTokens).toBeGreaterThan(3)
    for (const { body } of server.requests) expect(body.prompt ?? 'long enough').not.toHaveLength(1)
  })

  test('a server without salts is refused until the operator accepts a shared cache', async () => {
    for (const kind of ['ollama', 'generic'] as const) {
      expect(await rejection(connect({ kind }))).toMatchObject({
        message: expect.stringContaining('do not support cache salts'),
      })
      await connect({ kind }, { acceptSharedCache: true })
    }
  })

  test('every request tells llama-server not to use its cache', async () => {
    const server = serve({ kind: 'llama-server' })
    const engine = await connectTo(server.url)
    server.requests.length = 0
    const body: JsonObject = { model: 'scripted', messages: [{ role: 'user', content: 'a' }] }
    const signal = new AbortController().signal
    await engine.call({
      endpoint: 'chat',
      body: { ...body, cache_prompt: true },
      stream: false,
      signal,
    })
    await engine.countTokens(body)
    const generating = server.requests.filter(({ path }) => path === '/v1/chat/completions')
    expect(generating.map((request) => request.body.cache_prompt)).toEqual([false])
  })
})

describe('health', () => {
  test('an unavailable server is not used, and is inspected again when it is back', async () => {
    const server = serve({})
    const news: boolean[] = []
    const parts: HttpEngineParts = {
      now: () => new Date(),
      onHealth: (isHealthy) => news.push(isHealthy),
    }
    const engine = await connectTo(server.url, { healthIntervalMs: 10 }, parts)
    const signal = new AbortController().signal
    const body = { model: 'scripted', messages: [{ role: 'user', content: 'a' }] }
    const call = () => engine.call({ endpoint: 'chat', body, stream: false, signal })
    server.setDown(true)
    await until(() => news.length === 1)
    expect(await rejection(call())).toMatchObject({
      code: 'engine_unavailable',
      retryAfterSeconds: 2,
    })
    // It comes back with a cache that ignores salts: it must stay out.
    server.change({ cache: 'shared' })
    server.setDown(false)
    await Bun.sleep(60)
    expect(await rejection(call())).toMatchObject({ code: 'engine_unavailable' })
    server.change({ cache: 'salted' })
    await until(() => news.length === 2)
    expect((await call()).kind).toBe('complete')
    server.setDown(true)
    await until(() => news.length === 3)
    server.change({ version: '0.28.0' })
    server.setDown(false)
    await until(() => news.length === 4)
    expect([news, engine.name]).toEqual([[false, true, false, true], 'http vllm 0.28.0'])
  })
})
