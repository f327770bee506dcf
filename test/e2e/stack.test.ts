import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { encodingsOf } from '../blindness/find-secret.ts'
import { memoryHolds } from '../blindness/process-memory.ts'
import { readProcess } from '../process-table.ts'
import { rejection, thrown } from '../rejection.ts'
import { type RunningStack, runStack } from './running-stack.ts'

let server: ScriptedServer
let stack: RunningStack

beforeAll(async () => {
  server = startScriptedServer({ kind: 'vllm', cache: 'salted' })
  stack = await runStack(['--engineUrl', server.url])
}, 150_000)

afterAll(async () => {
  await stack?.stop()
  await server?.stop()
}, 240_000)

function isRunning(pid: number): boolean {
  const state = readProcess(pid)?.state
  return state !== undefined && state !== 'Z'
}

const ask = (content: string) => ({
  model: 'scripted',
  messages: [{ role: 'user' as const, content }],
})

const clients = (): [string, OpenAI][] => {
  const secureFetch = (url: string | URL | Request, init?: RequestInit) =>
    fetch(url as string, { ...init, tls: { ca: stack.ca } } as RequestInit)
  return [
    ['proxy', new OpenAI({ baseURL: `${stack.proxyUrl}/v1`, apiKey: 'unused', maxRetries: 0 })],
    [
      'proxyless endpoint',
      new OpenAI({
        baseURL: `${stack.proxylessUrl}/v1`,
        apiKey: stack.apiKey,
        fetch: secureFetch,
        maxRetries: 0,
      }),
    ],
  ]
}

describe('the official OpenAI client', () => {
  test('chats, streamed and not, through the proxy and the proxyless endpoint', async () => {
    for (const [, client] of clients()) {
      const whole = await client.chat.completions.create(ask('hello there'))
      expect(whole.choices[0]?.message.content).toContain('hello there')
      expect(whole.usage?.total_tokens).toBeGreaterThan(0)
      const stream = await client.chat.completions.create({ ...ask('[[words 20]]'), stream: true })
      let text = ''
      let finish: string | null | undefined
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        finish ??= chunk.choices[0]?.finish_reason
      }
      expect(text).toContain('word19')
      expect(finish).toBe('stop')
    }
  }, 240_000)

  test('gets clear errors for a wrong key, a missing key and an unknown model', async () => {
    const init = { tls: { ca: stack.ca }, method: 'POST', body: JSON.stringify(ask('x')) }
    const url = `${stack.proxylessUrl}/v1/chat/completions`
    const json = { 'content-type': 'application/json' }
    const missing = await fetch(url, { ...init, headers: json })
    expect(missing.status).toBe(401)
    expect(await missing.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
    const headers = { ...json, authorization: 'Bearer pm_wrong' }
    expect((await fetch(url, { ...init, headers })).status).toBe(401)
    const [, client] = clients()[0]!
    const unknown = async () => {
      await client.chat.completions.create({ ...ask('x'), model: 'nope' })
    }
    expect(await rejection(unknown())).toMatchObject({ status: 404, code: 'model_not_found' })
  }, 240_000)
})

describe('bad input gets a clear error in the dialect of its path', () => {
  const cases: [string, string, string][] = [
    ['malformed JSON', '{"model":', 'invalid_json'],
    ['a duplicate key', '{"model":"scripted","model":"other"}', 'invalid_json'],
    ['an array', '[]', 'invalid_json'],
    ['a wrong type', '{"model":"scripted","messages":"hello"}', 'invalid_value'],
    ['no model', '{"messages":[]}', 'missing_parameter'],
  ]
  test.each(cases)('%s', async (_name, body, code) => {
    const post = (path: string) =>
      fetch(stack.proxyUrl + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    const openai = await post('/v1/chat/completions')
    expect(openai.status).toBe(400)
    expect(await openai.json()).toMatchObject({ error: { code, type: 'invalid_request_error' } })
    const anthropic = await post('/v1/messages')
    expect(anthropic.status).toBe(400)
    const json = (await anthropic.json()) as { type: string; error: { type: string } }
    expect(json).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
  })

  test('a body over 32 MiB', async () => {
    const body = `{"model":"scripted","pad":"${'x'.repeat(33 * 1024 * 1024)}"}`
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${stack.proxyUrl}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
    })
    expect(response.status).toBe(413)
  }, 240_000)
})

test('a client that disconnects stops the generation, streamed or not', async () => {
  for (const stream of [true, false]) {
    const abort = new AbortController()
    const generations = () => server.requests.filter(({ path }) => path.startsWith('/v1/chat/'))
    const before = generations().length
    const going = fetch(`${stack.proxyUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...ask('[[slow 400]] [[pace 100]] [[words 200]]'), stream }),
      signal: abort.signal,
    }).then((response) => response.text())
    while (generations().length === before) await Bun.sleep(20)
    await Bun.sleep(stream ? 700 : 200)
    abort.abort()
    expect(await thrown(going)).toThrow()
    const seen = generations().at(-1)!
    const deadline = Date.now() + 30_000
    while (!seen.wasAborted && Date.now() < deadline) await Bun.sleep(20)
    expect(seen.wasAborted).toBe(true)
  }
}, 240_000)

test('the memory of the gateway never contains the prompt or the answer', async () => {
  const marked = 'Zinnober-Lagune-4711-Quittenbaum'
  const [, client] = clients()[0]!
  await client.chat.completions.create(ask(marked))
  const stream = await client.chat.completions.create({ ...ask(marked), stream: true })
  for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk')
  const forms = encodingsOf(marked).filter(([name]) => ['plain', 'UTF-16 LE', 'hex'].includes(name))
  const holds = (part: 'gateway' | 'proxy') =>
    memoryHolds(
      stack.pidOf(part),
      forms.map(([, form]) => form),
    )
  expect(holds('gateway')).toBe(false)
  // The same search does find it where it has to be.
  expect(holds('proxy')).toBe(true)
}, 240_000)

test('a worker killed in mid-stream is an error event, never a clean end, and a retry works', async () => {
  const response = await fetch(`${stack.proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...ask('[[pace 50]] [[words 400]]'), stream: true }),
  })
  expect(response.status).toBe(200)
  let text = ''
  let killed = false
  for await (const chunk of response.body!) {
    text += new TextDecoder().decode(chunk)
    if (!killed && text.includes('word5')) {
      killed = true
      process.kill(stack.pidOf('worker'), 'SIGKILL')
    }
  }
  expect(killed).toBe(true)
  expect(text).not.toContain('[DONE]')
  const lastEvent = text.trim().split('\n\n').at(-1) ?? ''
  expect(JSON.parse(lastEvent.replace('data: ', ''))).toMatchObject({
    error: { type: 'server_error' },
  })
  await stack.until(/worker exited \(SIGKILL\); restarting it/, 30_000)
  const [, client] = clients()[0]!
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      const again = await client.chat.completions.create(ask('back again'))
      expect(again.choices[0]?.message.content).toContain('back again')
      break
    } catch (error) {
      if (Date.now() > deadline) throw error
      await Bun.sleep(200)
    }
  }
}, 240_000)

test('a busy port fails the start with one clear sentence', async () => {
  const port = new URL(stack.proxyUrl).port
  const failed = runStack(['--engineUrl', server.url, '--port', port])
  expect(await thrown(failed)).toThrow(`port ${port} is in use; stop the other program`)
}, 240_000)

test('a stack ends with the program that started it, even if that is killed', async () => {
  const module = fileURLToPath(new URL('./running-stack.ts', import.meta.url))
  const program = `const { runStack } = await import(${JSON.stringify(module)})
    const stack = await runStack(['--engineUrl', ${JSON.stringify(server.url)}])
    console.log(JSON.stringify({ pid: stack.pidOf('gateway'), home: stack.home }))
    await Bun.sleep(1e6)`
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  const started = JSON.parse(new TextDecoder().decode(value)) as { pid: number; home: string }
  child.kill('SIGKILL')
  for (const end = Date.now() + 60_000; isRunning(started.pid); await Bun.sleep(100))
    if (Date.now() > end) throw new Error(`process ${started.pid} still runs`)
  rmSync(started.home, { recursive: true, force: true })
}, 240_000)

test('keys, tokens and the database are readable by their owner only', () => {
  for (const name of [
    'api-key',
    'keys/admin-token',
    'keys/register-token',
    'keys/software-root.json',
    'tls/key.pem',
  ]) {
    const { stdout } = Bun.spawnSync(['stat', '-c', '%a', `${stack.home}/${name}`])
    expect(stdout.toString().trim()).toBe('600')
  }
})
