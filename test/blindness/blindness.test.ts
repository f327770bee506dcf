import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { type System, startSystem } from '../e2e/system.ts'
import { encodingsOf, findSecrets } from './find-secret.ts'
import { type Recording, startRecordingRelay } from './recording-relay.ts'

const secrets = {
  prompt: 'the patient Ophelia Quartzwing takes lithium carbonate',
  answer: 'a quiet harbour of cobalt lanterns',
  salt: 'salt-9f1c7e5522d94b0c8a7766-fortytwo-and-more',
  tool: 'lookup_quartz_register',
  stop: 'zz-stop-here-zz',
  parameter: '0.73219',
} as const
const all = Object.values(secrets)

let system: System
let front: Recording
let back: Recording

beforeAll(async () => {
  const engine = new ScriptedEngine({ deltas: [{ content: secrets.answer }] })
  const tapWorker = (url: string) => {
    back = startRecordingRelay(url)
    return back.url
  }
  system = await startSystem({ engines: [engine], tapWorker })
  front = startRecordingRelay(system.gatewayUrl)
}, 150_000)

afterAll(async () => {
  front.stop()
  back.stop()
  await system.stop()
}, 240_000)

const body = (stream: boolean) =>
  new TextEncoder().encode(
    JSON.stringify({
      model: 'org/chat-1',
      messages: [{ role: 'user', content: secrets.prompt }],
      cache_salt: secrets.salt,
      stop: [secrets.stop],
      temperature: Number(secrets.parameter),
      tools: [{ type: 'function', function: { name: secrets.tool, parameters: {} } }],
      stream,
    }),
  )

async function converse(stream: boolean): Promise<string> {
  const answer = await system.client({ endpoint: front.url, shape: 'default' }).exchange({
    path: '/v1/chat/completions',
    model: 'org/chat-1',
    body: body(stream),
    stream,
    apiKey: system.apiKey,
    cacheSalt: secrets.salt,
    defaultSalt: secrets.salt,
  })
  return new TextDecoder().decode(await answer.whole())
}

/** Every file that the gateway stores, including its database. */
function stored(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
  return Buffer.concat(files.map((path) => readFileSync(path)))
}

test('the gateway receives, stores and logs nothing of a conversation', async () => {
  for (const stream of [false, true]) expect(await converse(stream)).toContain(secrets.answer)
  expect(front.bytes().length).toBeGreaterThan(4000)
  expect(back.bytes().length).toBeGreaterThan(4000)
  expect(findSecrets(front.bytes(), all)).toEqual([])
  expect(findSecrets(back.bytes(), all)).toEqual([])
  expect(findSecrets(stored(join(system.folder, 'gateway')), all)).toEqual([])
  expect(findSecrets(Buffer.from(system.logs.gateway.join('')), all)).toEqual([])
}, 240_000)

test('the worker logs nothing of a conversation', async () => {
  await converse(false)
  expect(findSecrets(Buffer.from(system.logs.worker.join('')), all)).toEqual([])
}, 240_000)

test('the search finds a conversation that is not sealed', async () => {
  const before = front.bytes().length
  await fetch(`${front.url}/privatemode/v1/sealed`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${system.apiKey}`,
      'content-type': 'application/privatemode-sealed',
      'privatemode-request-id': '00'.repeat(16),
      'privatemode-model': 'org/chat-1',
      'privatemode-path': '/v1/chat/completions',
      'privatemode-workers': system.workers[0]!.workerId,
    },
    body: body(false),
  }).then((response) => response.arrayBuffer())
  const clear = front.bytes().subarray(before)
  const found = new Set(findSecrets(clear, all).map(({ secret }) => secret))
  for (const sent of [
    secrets.prompt,
    secrets.salt,
    secrets.tool,
    secrets.stop,
    secrets.parameter,
  ]) {
    expect(found.has(sent)).toBe(true)
  }
}, 240_000)

test('the search finds every encoding that it claims to', () => {
  for (const [encoding, form] of encodingsOf(secrets.prompt)) {
    const haystack = Buffer.concat([Buffer.from('xx'), form, Buffer.from('yy')])
    expect(findSecrets(haystack, [secrets.prompt]).map((found) => found.encoding)).toContain(
      encoding,
    )
  }
  for (let shift = 0; shift < 3; shift++) {
    const inside = Buffer.from(`${'.'.repeat(shift)}${secrets.prompt}...`).toString('base64')
    expect(findSecrets(Buffer.from(inside), [secrets.prompt])).not.toEqual([])
  }
})
