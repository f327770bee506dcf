/**
 * Messages and responses that a model server answers natively: the same guarantees as on the
 * translated path.
 */
import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import type { ServerFetch } from '../servers/server-client.ts'
import { serverSalt } from '../servers/server-salt.ts'
import { ask, start } from '../testing/ask.ts'
import { closeAfterEach, connectTo, serve } from '../testing/connected-engine.ts'
import { connect, dialects, longText, message, response } from '../testing/native-dialects.ts'
import type { ScriptedServer, ScriptedServerOptions } from '../testing/scripted-server.ts'
import { until } from '../testing/until.ts'

closeAfterEach()

const salt = 's'.repeat(44)
/** Merges four pieces of an answer into one. */
function joinPieces(all: JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = []
  let count = 0
  for (const event of all) {
    const last = joined.at(-1)
    const isPiece = String(event.type).endsWith('delta') && event.type === last?.type
    if (last === undefined || !isPiece || count++ % 4 === 3) joined.push({ ...event })
    else if (typeof event.delta === 'string') last.delta = `${last.delta}${event.delta}`
    else {
      const [before, added] = [last.delta as JsonObject, event.delta as JsonObject]
      last.delta = { ...before, text: `${before.text}${added.text}` }
    }
  }
  return joined
}

const pathsOf = (server: ScriptedServer) => server.requests.map(({ path }) => path)

describe('which path', () => {
  test('a server whose endpoint isolates salts is used natively', async () => {
    for (const [path, bodyOf] of dialects)
      for (const stream of [false, true]) {
        const { server, engine } = await connect()
        const { status } = await ask(engine, path, bodyOf('hello', { stream, cache_salt: salt }))
        expect([status, pathsOf(server)]).toEqual([200, [path]])
        expect(server.requests[0]?.body.cache_salt).toBe(serverSalt(salt))
      }
  })

  test('check 59: the client’s default salt reaches the server, otherwise one for this request alone', async () => {
    const { server, engine } = await connect()
    for (const [path, bodyOf] of dialects) {
      server.requests.length = 0
      await ask(engine, path, bodyOf('hello'), { defaultCacheSalt: salt })
      await ask(engine, path, bodyOf('hello'))
      await ask(engine, path, bodyOf('hello'))
      const [first, second, third] = server.requests.map(({ body }) => body.cache_salt)
      expect([first, pathsOf(server)]).toEqual([serverSalt(salt), [path, path, path]])
      expect(String(second)).toMatch(/^[0-9a-f]{64}$/)
      expect(String(third)).toMatch(/^[0-9a-f]{64}$/)
      expect(second).not.toBe(third)
    }
  })

  test('check 33: latest is passed on and answered under the model’s real name', async () => {
    const { server, engine } = await connect()
    for (const [path, bodyOf] of dialects) {
      const { json, headers } = await ask(engine, path, bodyOf('hello', { model: 'latest' }))
      expect([json.model, server.requests.at(-1)?.body.model]).toEqual(['scripted', 'scripted'])
      expect(headers.deprecation).toMatch(/^@\d+$/)
    }
    expect(pathsOf(server)).toEqual(['/v1/messages', '/v1/responses'])
  })

  test('check 83: without proof for that path, messages and responses are translated', async () => {
    const unproven: ScriptedServerOptions[] = [
      { native: [] },
      { dropsSaltOn: ['/v1/messages', '/v1/responses'], version: '9.9.9' },
      { reportsCache: false, version: '9.9.9' },
    ]
    for (const options of unproven)
      for (const [path, bodyOf] of dialects) {
        const { server, engine } = await connect(options)
        expect((await ask(engine, path, bodyOf('hello'))).status).toBe(200)
        expect(pathsOf(server)).toEqual(['/v1/chat/completions'])
      }
  })

  test('a server that miscounts messages is not used for them', async () => {
    const { server, engine } = await connect({ miscountsBy: 1 })
    await ask(engine, '/v1/messages', message('hello'))
    await ask(engine, '/v1/responses', response('hello'))
    expect(pathsOf(server)).toEqual(['/v1/chat/completions', '/v1/responses'])
  })

  test('the operator can have everything translated', async () => {
    const { server, engine } = await connect({}, true)
    for (const [path, bodyOf] of dialects) await ask(engine, path, bodyOf('hello'))
    expect(new Set(pathsOf(server))).toEqual(new Set(['/v1/chat/completions']))
  })

  test('requests that a server would alter are translated', async () => {
    const { server, engine } = await connect()
    const turn = (role: string, content: unknown) => ({ role, content })
    const tool = { name: 'f', input_schema: { type: 'object' } }
    const call = { type: 'tool_use', id: 'a', name: 'f', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'no', is_error: true }
    const failed = [turn('user', 'x'), turn('assistant', [call]), turn('user', [result])]
    const text = { type: 'text', text: 'x' }
    const hidden = { ...result, is_error: false, content: [{ ...text, image_url: 'http://x' }] }
    const nested = [turn('user', 'x'), turn('assistant', [call]), turn('user', [hidden])]
    const messages: JsonObject[] = [
      message('x', { seed: 1 }),
      message('x', { output_config: { effort: 'low' } }),
      message('x', { messages: [turn('user', 'x'), turn('assistant', 'I say')] }),
      message('x', { messages: [turn('system', 'x'), turn('user', 'x')] }),
      message('x', { messages: failed }),
      message([{ type: 'document', source: { type: 'text', data: 'x' } }]),
      message([{ ...text, image_url: 'http://192.0.2.1/a.png' }]),
      message('x', { messages: [{ ...turn('user', 'x'), image_url: 'http://192.0.2.1/a.png' }] }),
      message('x', { messages: nested }),
      message('x', {
        tools: [tool],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      }),
      message('x', { tools: [{ ...tool, server_url: 'http://192.0.2.1' }] }),
    ]
    const named = { type: 'function', name: 'f', parameters: { type: 'object' } }
    const answered = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
    const parts = [{ type: 'input_text', text: 'x' }]
    const output = { type: 'function_call_output', call_id: 'a', output: parts }
    const responses: JsonObject[] = [
      response('x', { seed: 1 }),
      response('x', { include: ['reasoning.encrypted_content'] }),
      response('x', { tools: [{ type: 'web_search' }] }),
      response('x', { tools: [{ type: 'mcp', server_url: 'http://192.0.2.1' }] }),
      response('x', { tools: [{ type: 'local_shell' }] }),
      response('x', { tools: [{ ...named, server_url: 'http://192.0.2.1' }] }),
      response('x', { truncation: 'auto' }),
      response('x', {
        tools: [named],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [named] },
      }),
      response([turn('user', 'x'), answered, output]),
      response('x', { tools: [named], parallel_tool_calls: false }),
      response([
        { role: 'user', content: [{ type: 'input_text', text: 'x', file_url: 'http://x' }] },
      ]),
      response([{ ...turn('user', 'x'), file_url: 'http://192.0.2.1' }]),
      response([turn('user', 'x'), turn('assistant', 'I say')]),
      response([{ type: 'reasoning', content: [] }, turn('user', 'x')]),
    ]
    const asked: [string, JsonObject][] = [
      ...messages.map((body): [string, JsonObject] => ['/v1/messages', body]),
      ...responses.map((body): [string, JsonObject] => ['/v1/responses', body]),
    ]
    for (const [path, body] of asked) {
      server.requests.length = 0
      const { status } = await ask(engine, path, body)
      expect([body, status, pathsOf(server)]).toEqual([body, 200, ['/v1/chat/completions']])
    }
  })

  test('requests that a server refuses are translated, and errors have the translation’s wording', async () => {
    const { server, engine } = await connect({ contextLength: 600 })
    for (const [path, bodyOf] of dialects) {
      server.requests.length = 0
      const limit = path === '/v1/messages' ? 'max_tokens' : 'max_output_tokens'
      const fits = await ask(engine, path, bodyOf('hello', { [limit]: 32_000 }))
      expect(fits.status).toBe(200)
      expect(pathsOf(server)).toContain(path)
      const stream = await ask(engine, path, bodyOf('hello', { [limit]: 32_000, stream: true }))
      expect(stream.events.at(-1)?.event).toMatch(/message_stop|response.completed/)
      const refused = await ask(engine, path, bodyOf("[[error 400 no 'SECRET']]", { stream: true }))
      expect([refused.status, refused.text.includes('SECRET')]).toEqual([400, false])
    }
    const { json } = await ask(engine, '/v1/messages', message(`${longText} `.repeat(7)))
    expect(json.error.message).toBe('prompt is too long: 701 tokens > 600 maximum')
  })
})

describe('what reaches the server', () => {
  test('check 63: dangerous fields and media are refused on this path as on the other', async () => {
    const { server, engine } = await connect({ vision: true })
    const image = (source: JsonObject) => [{ type: 'image', source }]
    const url = 'http://192.0.2.1/a.png'
    const refused: [string, JsonObject][] = [
      ['/v1/messages', message('x', { vllm_xargs: {} })],
      ['/v1/messages', message('x', { chat_template_kwargs: { chat_template: 'x' } })],
      ['/v1/messages', message(image({ type: 'url', url }))],
      [
        '/v1/messages',
        message('x', { tools: [{ type: 'web_search', name: 'w', input_schema: {} }] }),
      ],
      ['/v1/responses', response('x', { kv_transfer_params: {} })],
      ['/v1/responses', response('x', { previous_response_id: 'resp_1' })],
      ['/v1/responses', response('x', { background: true })],
      [
        '/v1/responses',
        response([{ role: 'user', content: [{ type: 'input_image', image_url: url }] }]),
      ],
    ]
    for (const [path, body] of refused) {
      const { status } = await ask(engine, path, body)
      expect([body, status]).toEqual([body, 400])
    }
    expect(server.requests).toHaveLength(0)
    // A URL next to the image data is not passed on either.
    const both = { type: 'base64', media_type: 'image/png', data: 'AAAA', url }
    await ask(engine, '/v1/messages', message(image(both)))
    expect(JSON.stringify(server.requests)).not.toContain('192.0.2.1')
  })

  test('nothing is stored, nothing is run, and Claude Code’s billing line is removed', async () => {
    const { server, engine } = await connect()
    const about = { metadata: { a: 'b' }, prompt_cache_key: 'k', safety_identifier: 's' }
    await ask(engine, '/v1/responses', response('x', { store: true, ...about }))
    expect(server.requests[0]?.body).toMatchObject({ store: false })
    for (const name of Object.keys(about)) expect(server.requests[0]?.body).not.toHaveProperty(name)
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: cch=1;' },
      { type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } },
    ]
    const mcp_servers = [{ type: 'url', url: 'http://192.0.2.1' }]
    const thinking = { type: 'disabled' }
    await ask(
      engine,
      '/v1/messages',
      message('x', { system, mcp_servers, container: 'c', thinking }),
    )
    const { body } = server.requests[1] ?? {}
    expect(body).toMatchObject({
      system: 'be brief',
      chat_template_kwargs: { enable_thinking: false },
    })
    expect(Object.keys(body ?? {})).not.toContain('mcp_servers')
    expect(Object.keys(body ?? {})).not.toContain('container')
  })

  test('a client that disconnects stops the server, and is billed for what was done', async () => {
    for (const [path, bodyOf] of dialects) {
      // On a busy machine, counting may take longer than a worker waits for it.
      const { server, engine } = await connect({}, false, { settleMs: 120_000 })
      // Busy servers put several tokens into one piece.
      server.change({ reviseEvents: joinPieces })
      const aborter = new AbortController()
      const system = { [path === '/v1/messages' ? 'system' : 'instructions']: longText }
      const body = bodyOf('[[words 900]] [[pace 20]]', { stream: true, ...system })
      const got = await start(engine, path, body, { signal: aborter.signal })
      const reader = (got.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
      let text = ''
      while (!text.includes('word20 '))
        text += new TextDecoder().decode((await reader.next()).value as Uint8Array)
      aborter.abort()
      await got.settling?.()
      const usage = got.usage()
      expect(usage.countedBy).toBe('tokenizer')
      // On a busy machine, more may have arrived than the client has read: that is billed too.
      expect(usage.completionTokens).toBeGreaterThanOrEqual(text.match(/word\d+/g)?.length ?? 0)
      expect(usage.completionTokens).toBeLessThan(900)
      expect(usage.promptTokens).toBe(server.requests[0]?.promptTokens ?? 0)
      expect(usage.promptTokens).toBeGreaterThan(100)
      await until(() => server.requests[0]?.wasAborted === true)
      await reader.return?.()
    }
  })

  test('what a server no longer counts is estimated from the whole request', async () => {
    const { server, engine } = await connect()
    const aborter = new AbortController()
    const body = response('[[words 900]] [[pace 20]]', { stream: true, instructions: longText })
    const got = await start(engine, '/v1/responses', body, { signal: aborter.signal })
    const reader = (got.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    for (let i = 0; i < 5; i++) await reader.next()
    server.setDown(true)
    aborter.abort()
    await got.settling?.()
    const usage = got.usage()
    expect(usage.countedBy).toBe('estimate')
    expect(usage.promptTokens).toBeGreaterThan(longText.length / 4)
    expect(usage.completionTokens).toBeGreaterThan(0)
    await reader.return?.()
  })

  test('a client that disconnects from an answer that is not streamed stops the server, and is billed for what was done', async () => {
    for (const [path, bodyOf] of dialects) {
      const server = serve({ native: ['messages', 'responses'] })
      const aborter = new AbortController()
      // The engine pulls: when it is given this token, it has read the ones before.
      const fetch = listeningFetch('word9"', () => aborter.abort())
      const engine = await connectTo(server.url, {}, { fetch, now: () => new Date() })
      server.requests.length = 0
      const body = bodyOf('[[words 900]] [[pace 20]]')
      const { answer } = await ask(engine, path, body, { signal: aborter.signal })
      expect(answer.outcome()).toBe('aborted')
      expect(answer.usage().completionTokens).toBeGreaterThan(0)
      await until(() => server.requests[0]?.wasAborted === true)
    }
  })
})

/** Calls back when the body of an answer has come to `text`. */
const listeningFetch =
  (text: string, onText: () => void): ServerFetch =>
  async (url, asked) => {
    const response = await fetch(url, asked)
    const decoder = new TextDecoder()
    let seen = ''
    const listen = new TransformStream<Uint8Array, Uint8Array>(
      {
        transform(bytes, controller) {
          controller.enqueue(bytes)
          seen += decoder.decode(bytes, { stream: true })
          if (seen.includes(text)) onText()
        },
      },
      { highWaterMark: 1 },
      { highWaterMark: 0 },
    )
    return new Response(response.body?.pipeThrough(listen) ?? null, response)
  }
