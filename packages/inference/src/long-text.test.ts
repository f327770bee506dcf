/** Long texts that are not parsed mean what parsing them yields, and whatever a parser refuses is left to it. */
import { expect, test } from 'bun:test'
import { scanBody } from '@privatemode/protocol/api'
import fc from 'fast-check'
import type { JsonObject } from './engine.ts'
import { formatPieces, LongText, type LongTextLimits, parseLongTexts } from './long-text.ts'
import { ask } from './testing/ask.ts'
import { closeAfterEach, connect } from './testing/connected-engine.ts'

closeAfterEach()

const short: LongTextLimits = { leastBytes: 4, windowBytes: 8 }
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What the parser makes of a body; undefined if it is refused. */
function parsed(bytes: Uint8Array): JsonObject | undefined {
  try {
    scanBody(bytes)
    return JSON.parse(utf8.decode(bytes))
  } catch {
    return undefined
  }
}

/** Whether the fast way was taken; what it sends must mean what the parser would send. */
function isFast(bytes: Uint8Array, limits = short): boolean {
  const slow = parsed(bytes)
  const fast = parseLongTexts(bytes, limits)
  if (slow === undefined || fast === undefined) {
    // A body that the scan refuses never gets here.
    if (fast !== undefined) expect(() => scanBody(bytes)).toThrow()
    return false
  }
  const pieces = formatPieces(fast)
  const sent = typeof pieces === 'string' ? pieces : utf8.decode(Buffer.concat(pieces))
  expect(JSON.stringify(JSON.parse(sent))).toBe(JSON.stringify(slow))
  expect(JSON.stringify(fast)).toBe(JSON.stringify(slow))
  return true
}

const damaged: LongTextLimits = { leastBytes: 4, windowBytes: 24 }
const bodyOf = (contentJson: string, rest = '') =>
  Buffer.from(`{"model":"m","messages":[{"role":"user","content":${contentJson}}]${rest}}`)

const escaped = fc.constantFrom(
  ...['\\n', '\\"', '\\\\', '\\/', '\\u0041', '\\ud83d\\ude00', '\\ud800', '\\uDC00', '\\u0000'],
)
const raw = fc.constantFrom('a', ' ', 'é', '漢', '😀', '\u2028', '\ufeff', '}', ']', ',', ':')
const text = fc.array(fc.oneof(raw, escaped), { maxLength: 60 }).map((all) => `"${all.join('')}"`)

test('a text means the same, whatever its escapes and wherever its windows end', () => {
  let fast = 0
  const body = fc.tuple(text, text, fc.constantFrom('', ' ', '\n\t'), fc.nat(40))
  fc.assert(
    fc.property(body, ([one, other, space, windowBytes]) => {
      const part = `[{"type":"text",${space}"text"${space}:${space}${other}}]`
      const messages = `[{"role":"system","content":${space}${one}},{"content":${part},"role":"user"}]`
      const bytes = Buffer.from(`{"messages":${messages},"text":${other},"temperature":1e-7}`)
      if (isFast(bytes, { leastBytes: 4, windowBytes: windowBytes + 7 })) fast++
      if (isFast(bodyOf(one), { leastBytes: 4, windowBytes: windowBytes + 7 })) fast++
    }),
    { numRuns: 300 },
  )
  expect(fast).toBeGreaterThan(100)
})

test('a body that is damaged anywhere is never accepted where a parser refuses it', () => {
  const good = bodyOf(`"${'a\\n\\u00e9é漢'.repeat(4)}"`, ',"n":1')
  const bytes = [0, 9, 0x1f, 0x22, 0x5c, 0x75, 0x7b, 0x80, 0xc0, 0xed, 0xf8, 0xff]
  expect(isFast(good, damaged)).toBe(true)
  for (let at = 0; at < good.length; at++) {
    for (const byte of bytes) {
      const bad = Buffer.from(good)
      bad[at] = byte
      isFast(bad, damaged)
    }
    isFast(Buffer.concat([good.subarray(0, at), good.subarray(at + 1)]), damaged)
  }
})

test('texts in other places, repeated keys and strange types are left to the parser', () => {
  const long = JSON.stringify('x'.repeat(100))
  for (const body of [
    `{"content":${long}}`,
    `{"messages":{"content":${long}}}`,
    `{"messages":[{"content":{"text":${long}}}]}`,
    `{"messages":[{"content":${long},"content":1}]}`,
    `{"messages":[{"content":${long},"content":${long}}]}`,
    `{"messages":[{"content":${long}}],"tools":[{"text":${long}}]}`,
    `{"messages":[{${long}:1,"content":"abcd${'\\\\'.repeat(5000)}"}]}`,
    `{"messages":[{"content":["text",${long}]}]}`,
  ]) {
    expect(isFast(Buffer.from(body))).toBe(false)
    expect(parsed(Buffer.from(body))).toBeDefined()
  }
  // A key may be written with escapes, and a text may look like a key.
  expect(isFast(Buffer.from(`{"messages":[{"c\\u006fntent":${long}}]}`))).toBe(false)
  expect(isFast(Buffer.from(`{"messages":[{"content":"\\"content\\":\\"abc"}]}`))).toBe(true)
  expect(isFast(Buffer.from(`{"messages":[null,1,{"content":${long}}]}`))).toBe(true)
})

test('a short body is parsed, and a text is one whether it is long or not', () => {
  expect(parseLongTexts(bodyOf('"short"'))).toBeUndefined()
  const body = parseLongTexts(bodyOf(JSON.stringify('ä'.repeat(40_000))))
  const [message] = (body as JsonObject).messages as [JsonObject]
  expect(message.content).toBeInstanceOf(LongText)
  expect(JSON.stringify(message.content)).toBe(JSON.stringify('ä'.repeat(40_000)))
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
