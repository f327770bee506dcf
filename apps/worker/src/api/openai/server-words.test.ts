/** What a model server says to other machines ends at the worker; all else of its answers goes on. */
import { expect, test } from 'bun:test'
import { ask } from '../../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../../testing/scripted-engine.ts'

const transfers = { kv_transfer_params: { host: 'SECRET' }, ec_transfer_params: { host: 'SECRET' } }
const about = { ...transfers, service_tier: 'default', system_fingerprint: 'fp', novelty: 'KEPT' }
const usage = { prompt_tokens: 1, completion_tokens: 1 }
const messages = [{ role: 'user', content: 'hi' }]

test('no caller sees where caches are exchanged, and every caller what is new', async () => {
  for (const [path, fields, said] of [
    ['/v1/chat/completions', { messages }, { message: { content: 'a' }, delta: { content: 'a' } }],
    ['/v1/completions', { prompt: 'hi' }, { text: 'a' }],
  ] as const)
    for (const stream of [false, true]) {
      const choices = [{ index: 0, ...said, finish_reason: 'stop', token_ids: [7] }]
      const answer = { ...about, choices, usage }
      const engine = new ScriptedEngine(stream ? { chunks: [answer] } : { body: answer })
      const { status, text } = await ask(engine, path, { model: chatModel.id, ...fields, stream })
      expect([path, status]).toEqual([path, 200])
      expect(text).not.toMatch(/SECRET|transfer_params/)
      for (const kept of ['"novelty":"KEPT"', '"service_tier":"default"', '"token_ids":[7]'])
        expect(text).toContain(kept)
    }
})
