/** A server that continues unread is told by name to stop, and bills what it then says. */
import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { EngineCall, EngineUsage, JsonObject } from '../engine.ts'
import { callOf, chat, closeAfterEach, connect, streamed } from '../testing/connected-engine.ts'
import { until } from '../testing/until.ts'

closeAfterEach()

const long = '[[words 500]] [[pace 5]]'
const chatOf = (fields: JsonObject = {}) => callOf(chat(long, fields))
const completion = (prompt: unknown) =>
  callOf({ model: 'scripted', prompt, cache_salt: 's'.repeat(44) }, { endpoint: 'completions' })

/** Aborts after some tokens; returns the last counts. */
async function countsOfAborted(
  options: Parameters<typeof connect>[0],
  call: EngineCall,
): Promise<{ usage: EngineUsage | undefined; isTold: () => boolean }> {
  const { server, engine } = await connect({ kind: 'sglang', ...options })
  const aborter = new AbortController()
  let usage: EngineUsage | undefined
  let settling: Promise<void> | undefined
  const watched: EngineCall = {
    ...call,
    signal: aborter.signal,
    onUsage: (told) => {
      usage = told
      if (told.completionTokens >= 3) aborter.abort()
    },
    onSettling: (counts) => (settling = counts),
  }
  expect(await rejection(streamed(engine, watched))).toMatchObject({ code: 'aborted' })
  await settling
  const [asked] = server.requests
  return { usage, isTold: () => asked?.stop.signal.aborted ?? false }
}

test('an aborted stream is ended by the server, and its last count is the bill', async () => {
  for (const call of [chatOf(), completion(long)]) {
    const { usage, isTold } = await countsOfAborted({}, call)
    expect(isTold()).toBe(true)
    expect(usage?.completionTokens).toBeWithin(3, 100)
  }
})

test('where the name does not help, the connection is closed', async () => {
  const { usage, isTold } = await countsOfAborted({ lacksPaths: ['/abort_request'] }, chatOf())
  expect(isTold()).toBe(false)
  expect(usage?.completionTokens).toBeWithin(3, 100)
})

test('several choices and several prompts have no name', async () => {
  for (const call of [chatOf({ n: 2 }), completion([long, long])]) {
    const { server, engine } = await connect({ kind: 'sglang' })
    const answer = await engine.call({ ...call, stream: true })
    if (answer.kind === 'stream') for await (const _ of answer.chunks) break
    expect(server.requests[0]?.body.rid).toBeUndefined()
  }
})

test('a call without an answer yet is told to stop, and no other server gets a name', async () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  for (const [kind, fields] of [
    ['sglang', {}],
    ['sglang', { tools }],
    ['vllm', {}],
  ] as const)
    for (const stream of [true, false]) {
      const { server, engine } = await connect({ kind, native: ['responses'] })
      const aborter = new AbortController()
      const call = callOf(chat('[[slow 60000]] a', fields), { stream, signal: aborter.signal })
      const answering = stream ? streamed(engine, call) : engine.call(call)
      await until(() => server.requests.length > 0)
      aborter.abort()
      expect(await rejection(answering)).toMatchObject({ code: 'aborted' })
      const [asked] = server.requests
      if (kind === 'sglang') await until(() => asked?.stop.signal.aborted === true)
      expect('rid' in (asked?.body ?? {})).toBe(kind === 'sglang')
    }
})

test('each call has a name of its own, in the field of its endpoint', async () => {
  const { server, engine } = await connect({ kind: 'sglang', native: ['responses'] })
  for (let turn = 0; turn < 2; turn++) await engine.call(callOf(chat('hello')))
  const response = { model: 'scripted', input: 'hello', cache_salt: 's'.repeat(44) }
  await engine.call(callOf(response, { endpoint: 'responses' }))
  const names = server.requests.map(({ body }) => body.rid ?? body.request_id)
  expect(new Set(names).size).toBe(3)
  for (const name of names) expect(name).toMatch(/^privatemode-[0-9a-f]{32}$/)
})
