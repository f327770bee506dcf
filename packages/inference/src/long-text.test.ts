/** Long texts reach a model server as they came; `parse-in-turns.test.ts` covers how they are found. */
import { expect, test } from 'bun:test'
import type { JsonObject } from './engine.ts'
import { formatPieces, LongText } from './long-text.ts'
import { ask } from './testing/ask.ts'
import { closeAfterEach, connect } from './testing/connected-engine.ts'

closeAfterEach()

test('a text is formatted as it came, and a body without one as usual', () => {
  const json = Buffer.from('"\\u00e4 \\n"')
  const pieces = formatPieces({ a: 1, content: new LongText(json) }) as Uint8Array[]
  expect(Buffer.concat(pieces).toString()).toBe(`{"a":1,"content":${json}}`)
  expect(JSON.stringify({ content: new LongText(json) })).toBe('{"content":"ä \\n"}')
  expect(formatPieces({ a: 1 })).toBe('{"a":1}')
})

test('a model server gets the long prompt of every dialect, as a whole answer and as a stream', async () => {
  const { server, engine } = await connect({ contextLength: 1_000_000 })
  expect(engine.takesLongTexts).toBe(true)
  const content = `ä "quoted" \\ \n\ud83d\ude00 ${'word '.repeat(14_000)}`
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses']) {
    for (const stream of [false, true]) {
      server.requests.length = 0
      const asked = { messages: [{ role: 'user', content }], input: content, max_tokens: 4 }
      const { messages, input, max_tokens } = asked
      const own = path === '/v1/responses' ? { input } : { messages, max_tokens }
      const { status } = await ask(engine, path, { model: 'scripted', stream, ...own })
      expect(status).toBe(200)
      const body = server.requests.at(-1)?.body as { messages: [{ content: unknown }] }
      expect(JSON.stringify(body.messages)).toContain(JSON.stringify(content))
    }
  }
})

test('a long text of the wrong kind is refused as a short one would be', async () => {
  const { engine } = await connect()
  const long = 'x'.repeat(100_000)
  const send = (message: JsonObject) =>
    ask(engine, '/v1/chat/completions', { model: 'scripted', messages: [message] })
  for (const content of [long, 'x']) {
    const { status, json } = await send({ role: 'nobody', content })
    expect([status, json.error.param]).toEqual([400, 'messages.0.role'])
    const part = await send({ role: 'user', content: [{ type: 'image_url', text: content }] })
    expect([part.status, part.json.error.param]).toEqual([400, 'messages.0.content.0.image_url'])
  }
})
