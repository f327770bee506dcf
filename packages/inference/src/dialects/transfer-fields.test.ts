/**
 * A model server's fields for other machines stop at the worker; everything else in its answers is
 * passed on.
 */
import { expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { closeAfterEach } from '../testing/connected-engine.ts'
import { everyEndpoint } from '../testing/every-endpoint.ts'
import { connect, dialects } from '../testing/native-dialects.ts'
import { ScriptedEngine } from '../testing/scripted-engine.ts'

closeAfterEach()

const transfers = { kv_transfer_params: { host: 'SECRET' }, ec_transfer_params: { host: 'SECRET' } }
const about = { ...transfers, service_tier: 'default', system_fingerprint: 'fp', novelty: 'KEPT' }
const usage = { prompt_tokens: 1, completion_tokens: 1 }
const said = { message: { content: 'a' }, delta: { content: 'a' }, text: 'a' }
const choices = [{ index: 0, ...said, finish_reason: 'stop', token_ids: [7] }]

test('no caller sees cache transfer fields, and every caller sees unknown fields', async () => {
  for (const [path, body] of everyEndpoint)
    for (const stream of [false, true]) {
      const answer = { ...about, choices, data: [{ embedding: [1] }], usage }
      const engine = new ScriptedEngine({ chunks: [answer], body: answer })
      const { status, text } = await ask(engine, path, { ...body, stream })
      expect([path, status]).toEqual([path, 200])
      expect(text).not.toMatch(/SECRET|transfer_params/)
      if (!path.endsWith('/completions')) continue // rebuilt from an answer
      for (const kept of ['"novelty":"KEPT"', '"service_tier":"default"', '"token_ids":[7]'])
        expect(text).toContain(kept)
    }
})

test('nor when the server answers natively', async () => {
  const told = (event: JsonObject, name: string) =>
    name in event ? { [name]: { ...(event[name] as JsonObject), ...transfers, new: 'KEPT' } } : {}
  const tell = (event: JsonObject) => ({
    ...{ ...event, ...transfers },
    ...{ ...told(event, 'message'), ...told(event, 'response') },
  })
  const { server, engine } = await connect({ reviseEvents: (events) => events.map(tell) })
  for (const [path, bodyOf] of dialects)
    for (const stream of [false, true]) {
      const { status, text } = await ask(engine, path, bodyOf('hello', { stream }))
      expect([status, server.requests.at(-1)?.path]).toEqual([200, path])
      expect(text).not.toMatch(/SECRET|transfer_params/)
      if (stream) expect(text).toContain('"new":"KEPT"')
    }
})
