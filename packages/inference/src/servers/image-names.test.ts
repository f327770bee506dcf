/** A server that keeps images keeps them for each salt separately. */
import { expect, test } from 'bun:test'
import type { JsonObject } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { callOf, closeAfterEach, connect } from '../testing/connected-engine.ts'
import type { Recorded } from '../testing/scripted-server.ts'

closeAfterEach()

const png = (data: string) => `data:image/png;base64,${data}`
const text = { type: 'text', text: 'Compare these.' }
const chat = (images: readonly JsonObject[], salt = 's'): JsonObject => ({
  model: 'scripted',
  cache_salt: salt.repeat(44),
  messages: [
    { role: 'system', content: 'be brief' },
    {
      role: 'user',
      content: [text, ...images.map((image_url) => ({ type: 'image_url', image_url }))],
    },
  ],
})

type Part = { readonly type: string; readonly uuid?: string }
const parts = ({ body }: Recorded): Part[] =>
  (body.messages as { content: Part[] }[]).flatMap(({ content }) =>
    Array.isArray(content) ? content : [],
  )
const names = (recorded: Recorded | undefined) =>
  recorded === undefined ? [] : parts(recorded).flatMap(({ uuid }) => uuid ?? [])

async function nameOf(body: JsonObject): Promise<string> {
  const { server, engine } = await connect({ vision: true })
  await engine.call(callOf(body))
  const [name = ''] = names(server.requests[0])
  return name
}

test('the name of an image depends on its content, its details and the salt', async () => {
  const image = { url: png('AAAA') }
  const name = await nameOf(chat([image]))
  expect(name).toMatch(/^[0-9a-f]{64}$/)
  expect(await nameOf(chat([image]))).toBe(name)
  const others = [
    chat([image], 't'),
    chat([{ url: png('AAAB') }]),
    chat([{ ...image, detail: 'low' }]),
  ]
  for (const other of others) expect(await nameOf(other)).not.toBe(name)
})

test('each image gets one, text gets none, and the request is not changed for its caller', async () => {
  const { server, engine } = await connect({ vision: true })
  const body = chat([{ url: png('AAAA') }, { url: png('BBBB') }])
  const before = JSON.stringify(body)
  await engine.call(callOf(body))
  const [asked] = server.requests
  expect(new Set(names(asked)).size).toBe(2)
  expect(asked && parts(asked)[0]).toEqual(text)
  expect(JSON.stringify(body)).toBe(before)
})

test('they are also named when tokens are counted, and not for other servers', async () => {
  const { server, engine } = await connect({ vision: true })
  await engine.countTokens(chat([{ url: png('AAAA') }]))
  const [counted] = server.requests
  expect([counted?.path, names(counted).length]).toEqual(['/tokenize', 1])
  const other = await connect({ kind: 'llama-server', vision: true })
  await other.engine.call(callOf(chat([{ url: png('AAAA') }])))
  expect(names(other.server.requests[0])).toEqual([])
})

test('a server whose tokenizer accepts no names gets no images', async () => {
  const { engine } = await connect({ vision: true, failsOn: ['/tokenize'] })
  expect(engine.models()[0]?.vision).toBe(false)
})

test('messages and responses with images are translated, so that images are named', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' }
  const message = {
    max_tokens: 9,
    messages: [{ role: 'user', content: [{ type: 'image', source }] }],
  }
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: png('AAAA') }] }]
  for (const [path, body] of [
    ['/v1/messages', message],
    ['/v1/responses', { input }],
  ] as const) {
    const { server, engine } = await connect({ vision: true, native: ['messages', 'responses'] })
    const { status } = await ask(engine, path, { model: 'scripted', ...body })
    const [asked] = server.requests
    expect([status, asked?.path, names(asked).length]).toEqual([200, '/v1/chat/completions', 1])
  }
})
