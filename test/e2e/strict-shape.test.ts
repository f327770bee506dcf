import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type ScriptedServer,
  startScriptedServer,
} from '../../packages/inference/src/testing/scripted-server.ts'
import { type RunningStack, runStack } from './running-stack.ts'

let server: ScriptedServer
let stack: RunningStack

beforeAll(async () => {
  server = startScriptedServer({ kind: 'vllm', cache: 'salted' })
  stack = await runStack(['--engineUrl', server.url, '--trafficShape', 'strict'])
}, 150_000)

afterAll(async () => {
  await stack?.stop()
  await server?.stop()
}, 240_000)

test('a proxyless endpoint keeps the text of an answer that is faster than its shape', async () => {
  // The server sends all of it at once, the shape begins seconds later: it waits in the endpoint.
  const content = Array.from({ length: 3000 }, (_, index) => `word${index}`).join(' ')
  const body = { model: 'scripted', stream: true, messages: [{ role: 'user', content }] }
  const response = await fetch(`${stack.proxylessUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify(body),
    tls: { ca: stack.ca },
    signal: AbortSignal.timeout(90_000),
  })
  const events = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  expect(events.at(-1)).toBe('data: [DONE]')
  expect(textOf(events.slice(0, -1))).toContain(content)
}, 120_000)

type Chunk = { readonly choices: readonly { readonly delta: { readonly content?: string } }[] }

function textOf(events: readonly string[]): string {
  return events
    .map((event) => JSON.parse(event.slice('data: '.length)) as Chunk)
    .map(({ choices }) => choices[0]?.delta.content ?? '')
    .join('')
}
