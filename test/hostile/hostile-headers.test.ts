/** A gateway under the attacker's control that manipulates headers and bills. */
import { afterAll, afterEach, expect, test } from 'bun:test'
import type { PrivateClient } from '@privatemode/sdk'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { ReceiptedAnswer } from '../../packages/sdk/src/receipted-answer.ts'
import { startSystem } from '../e2e/system.ts'
import { type Sealed, startHostileGateway } from './hostile-gateway.ts'

const engine = new ScriptedEngine({ deltas: [{ content: 'Once ' }, { content: 'upon' }] })
const system = await startSystem({ engines: [engine] })
const gateway = startHostileGateway(system.gatewayUrl)
const [worker] = system.workers
if (worker === undefined) throw new Error('the system has no worker')
const workerUrl = `${worker.url}/privatemode/v1/sealed`
/** Bypasses the gateway, but with everything its owner has, including the worker's relay key. */
const relayed = (request: Sealed): Sealed => ({
  ...{ ...request, url: workerUrl },
  headers: system.relay(worker, request.headers, request.body.length),
})
afterAll(async () => {
  await gateway.stop()
  await system.stop()
}, 240_000)
afterEach(() => gateway.play({}))

const cacheSalt = 'c2FsdCBvZiB0aGUgY2FsbGVyLCBsb25nIGVub3VnaA=='

async function ask(client: PrivateClient): Promise<ReceiptedAnswer> {
  const text = JSON.stringify({
    model: 'org/chat-1',
    messages: [{ role: 'user', content: 'hi' }],
    cache_salt: cacheSalt,
  })
  const call = {
    path: '/v1/chat/completions',
    model: 'org/chat-1',
    body: new TextEncoder().encode(text),
    stream: false,
    apiKey: system.apiKey,
    cacheSalt,
  }
  return new ReceiptedAnswer(await client.exchange(call), call)
}
const newClient = () => system.client({ endpoint: gateway.url, retryBudgetMs: 0 })
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: { code?: string }) => error.code ?? String(error),
  )

test('headers that it adds to an answer do not reach applications', async () => {
  gateway.play({
    sealed: async (request, forward) => {
      const response = await forward(request)
      for (const name of ['set-cookie', 'location', 'deprecation', 'x-evil', 'retry-after']) {
        response.headers.set(name, 'evil')
      }
      response.headers.set('access-control-allow-credentials', 'true')
      return response
    },
  })
  const answer = await ask(newClient())
  expect(answer.head.status).toBe(200)
  expect(JSON.stringify(answer.head.headers)).not.toContain('evil')
  expect(Object.keys(answer.head.headers)).not.toContain('access-control-allow-credentials')
})

test.each(['request-id', 'model', 'path'])(
  'the worker refuses a request whose %s it strips',
  async (name) => {
    gateway.play({
      sealed: (request, forward) => {
        delete request.headers[`privatemode-${name}`]
        return forward(relayed(request))
      },
    })
    const before = engine.calls.length
    expect(await codeOf(ask(newClient()))).toBe('malformed')
    expect(engine.calls.length).toBe(before)
  },
)

test('headers that it adds to a request change nothing that the worker does', async () => {
  const spoken = async (added: Record<string, string>) => {
    gateway.play({
      sealed: (request, forward) => {
        Object.assign(request.headers, added)
        return forward(relayed(request))
      },
    })
    await (await ask(newClient())).whole()
    return JSON.stringify(engine.calls.at(-1)?.body)
  }
  const plain = await spoken({})
  const salt = { 'privatemode-cache-salt': 'shared', cache_salt: 'shared' }
  const more = { 'anthropic-beta': 'evil', 'privatemode-shape': 'off', 'x-forwarded-for': 'evil' }
  expect(await spoken({ ...salt, ...more })).toBe(plain)
  expect(plain).not.toContain('shared')
})

test('a forged bill does not match the receipt, which the worker signs for the client', async () => {
  gateway.play({
    sealed: async (request, forward) => {
      request.headers['privatemode-key-ref'] = 'key_of_somebody_else'
      const response = await forward(relayed(request))
      response.headers.set('privatemode-usage', '{"completion_tokens":1000000}')
      return response
    },
  })
  const answer = await ask(newClient())
  const body = JSON.parse(new TextDecoder().decode(await answer.whole()))
  const receipt = await answer.receipt()
  expect(receipt.completionTokens).toBe(body.usage.completion_tokens)
  expect(receipt.promptTokens).toBe(body.usage.prompt_tokens)
  expect(receipt.completionTokens).toBeLessThan(100)
})

test('a worker refuses anyone but its gateway, also with a replayed relay', async () => {
  const seen: Sealed[] = []
  gateway.play({
    sealed: (request, forward) => {
      seen.push(relayed(request))
      return forward(seen.at(-1) ?? request)
    },
  })
  await (await ask(newClient())).whole()
  const before = engine.calls.length
  const [first] = seen
  if (first === undefined) throw new Error('nothing was relayed')
  const send = async (headers: Record<string, string>) => {
    const response = await fetch(workerUrl, { method: 'POST', headers, body: first.body })
    return ((await response.json()) as { error: { code: string } }).error.code
  }
  expect(await send(first.headers)).toBe('replayed')
  const { 'privatemode-relay-mac': _, ...bare } = first.headers
  expect(await send(bare)).toBe('permission_denied')
  const otherKey = { ...first.headers, 'privatemode-key-ref': 'key_of_somebody_else' }
  expect(await send(otherKey)).toBe('permission_denied')
  expect(engine.calls.length).toBe(before)
})
