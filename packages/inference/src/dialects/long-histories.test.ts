/** Histories of very many small items: one request must not block a worker. */
import { expect, test } from 'bun:test'
import { ask } from '../testing/ask.ts'
import { chatModel, ScriptedEngine, visionModel } from '../testing/scripted-engine.ts'

const count = 60_000
/** Each takes a fraction of a second; quadratic time would be a quarter of a minute. */
const mostMs = 4_000

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }
const inputImage = { type: 'input_image', image_url: 'data:image/png;base64,AA==' }
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const text = { type: 'text', text: 'x' }
const chat = { model: chatModel.id, max_tokens: 1 }
const eyes = { ...chat, model: visionModel.id }
const many = (item: object) => Array.from({ length: count }, () => item)

test.each([
  ['function calls', '/v1/responses', { ...chat, input: many(call) }],
  [
    'images of a user',
    '/v1/responses',
    { ...eyes, input: many({ role: 'user', content: [inputImage] }) },
  ],
  [
    'images of a user',
    '/v1/messages',
    { ...eyes, messages: many({ role: 'user', content: [image] }) },
  ],
  [
    'blocks of text',
    '/v1/messages',
    { ...chat, messages: [{ role: 'user', content: many(text) }] },
  ],
])('%s cost %s linear time, not quadratic', async (_what, path, body) => {
  const engine = new ScriptedEngine({ deltas: [{ content: 'a' }] })
  const wire = JSON.stringify(body)
  const before = process.cpuUsage().user
  const { status } = await ask(engine, path, wire)
  expect(status).toBe(200)
  expect((process.cpuUsage().user - before) / 1000).toBeLessThan(mostMs)
})
