/** A body parsed in turns means what a parser makes of the whole, and is refused where a parser refuses it. */
import { describe, expect, test } from 'bun:test'
import { defaultScanLimits, scanBody } from '@privatemode/protocol/api'
import fc from 'fast-check'
import { rejection } from '../../../../test/rejection.ts'
import type { JsonObject } from '../engine.ts'
import { formatPieces, LongText } from '../long-text.ts'
import { defaultTurnLimits, parseInTurns, type TurnLimits } from './parse-in-turns.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const noTurn = async () => {}
const tiny: TurnLimits = {
  ...defaultTurnLimits,
  turnBytes: 9,
  turnValues: 3,
  shortBytes: 12,
  windowBytes: 8,
}

/** What the parser makes of a body; undefined if it is refused. */
function atOnce(bytes: Uint8Array): JsonObject | undefined {
  try {
    scanBody(bytes)
    return JSON.parse(utf8.decode(bytes))
  } catch {
    return undefined
  }
}

async function inTurns(bytes: Uint8Array, limits: TurnLimits, takesLongTexts = true) {
  const parsing = parseInTurns(bytes, takesLongTexts, noTurn, limits)
  return parsing.catch((error) => {
    expect(error.code).toBe('invalid_json')
    return undefined
  })
}

/** Compares with the parser; returns whether the body was accepted. */
async function agrees(bytes: Uint8Array, limits = tiny): Promise<boolean> {
  const whole = atOnce(bytes)
  const parts = await inTurns(bytes, limits)
  const plain = await inTurns(bytes, limits, false)
  if (parts === undefined) {
    expect(plain).toBeUndefined()
    return false
  }
  expect(plain).toEqual(whole!)
  expect(JSON.stringify(plain)).toBe(JSON.stringify(whole))
  expect(JSON.stringify(parts)).toBe(JSON.stringify(whole))
  const pieces = formatPieces(parts)
  const sent = typeof pieces === 'string' ? pieces : utf8.decode(Buffer.concat(pieces))
  expect(JSON.stringify(JSON.parse(sent))).toBe(JSON.stringify(whole))
  return true
}

const escaped = fc.constantFrom(
  ...['\\n', '\\"', '\\\\', '\\/', '\\u0041', '\\ud83d\\ude00', '\\ud800', '\\uDC00', '\\u0000'],
)
const raw = fc.constantFrom('a', ' ', 'é', '漢', '😀', '\u2028', '\ufeff', '}', ']', ',', ':')
const text = fc.array(fc.oneof(raw, escaped), { maxLength: 60 }).map((all) => `"${all.join('')}"`)
const space = fc.constantFrom('', ' ', '\n\t')

test('a text means the same, whatever its escapes and wherever its windows end', async () => {
  let accepted = 0
  const body = fc.tuple(text, text, space, fc.integer({ min: 7, max: 47 }))
  await fc.assert(
    fc.asyncProperty(body, async ([one, other, gap, windowBytes]) => {
      const limits = { ...tiny, windowBytes }
      const part = `[{"type":"text",${gap}"text"${gap}:${gap}${other}}]`
      const messages = `[{"role":"system","content":${gap}${one}},{"content":${part},"role":"user"}]`
      const bytes = Buffer.from(`{"messages":${messages},"text":${other},"n":1e-7}`)
      if (await agrees(bytes, limits)) accepted++
    }),
    { numRuns: 300 },
  )
  expect(accepted).toBe(300)
})

test('any value means the same, however small the parts are', async () => {
  const value = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })
  const key = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('__proto__', '1', 'é'))
  const body = fc.dictionary(key, value, { noNullPrototype: true })
  const limits = fc.record({
    turnBytes: fc.integer({ min: 1, max: 40 }),
    turnValues: fc.integer({ min: 1, max: 10 }),
    shortBytes: fc.constant(100),
    windowBytes: fc.integer({ min: 7, max: 20 }),
    scan: fc.constant(defaultScanLimits),
  })
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(body, limits, fc.constantFrom(undefined, 1), async (given, some, indent) => {
      if (await agrees(Buffer.from(JSON.stringify(given, null, indent)), some)) accepted++
    }),
    { numRuns: 500 },
  )
  expect(accepted).toBeGreaterThan(400) // others have long keys
})

test('a body damaged anywhere is never accepted where a parser refuses it', async () => {
  const long = 'a\\n\\u00e9é漢'.repeat(3)
  const body = `{"messages":[{"content":"${long}","x":[[],{}, {"y":"${long}"},1]},null],"n":[1,"${long}"]}`
  const good = Buffer.from(body)
  const bytes = [...Buffer.from('\0\t "\\u{}[],:1n'), 0x80, 0xc0, 0xed, 0xf8, 0xff]
  expect(await agrees(good)).toBe(true)
  for (let at = 0; at < good.length; at++) {
    for (const byte of bytes) {
      const bad = Buffer.from(good)
      bad[at] = byte
      await agrees(bad)
    }
    await agrees(Buffer.concat([good.subarray(0, at), good.subarray(at + 1)]))
    for (const byte of Buffer.from(',]}"1 ')) {
      await agrees(Buffer.concat([good.subarray(0, at), Buffer.of(byte), good.subarray(at)]))
    }
    expect(await inTurns(good.subarray(0, at), tiny)).toBeUndefined()
  }
})

describe('besides what a parser refuses', () => {
  const refusal = async (body: string, limits = tiny) =>
    String(await rejection(parseInTurns(Buffer.from(body), true, noTurn, limits)))

  test.each([
    ['a key of the body twice', '{"model":"a","model":"b"}', 'a key twice'],
    ['a key twice, escaped', '{"model":"a","mod\\u0065l":"b"}', 'a key twice'],
    ['a key twice, once long', '{"model":"a long text","model":1}', 'a key twice'],
    ['a long key', '{"a rather long key":1}', 'nested value'],
    ['a long number', '{"n":1234567890123}', 'too long'],
    ['much white space', `{"n":1 ${' '.repeat(20)}}`, 'too long'],
    ['white space before', `${' '.repeat(20)}{}`, 'expected an object'],
    ['white space after', `{}${' '.repeat(20)}`, 'too long'],
  ])('%s is refused', async (_, body, message) => {
    expect(await refusal(body)).toContain(message)
  })

  test('more keys, levels and values than the limits are refused', async () => {
    const limits = { ...tiny, scan: { maxDepth: 4, maxKeys: 2, maxValues: 13 } }
    const accepts = async (body: string) =>
      expect(await inTurns(Buffer.from(body), limits)).toEqual(JSON.parse(body))
    await accepts('{"a":[[[]]],"b":1}')
    expect(await refusal('{"a":[[[[]]]]}', limits)).toContain('deeper than 4')
    expect(await refusal('{"a":1,"b":2,"c":3}', limits)).toContain('more than 2 keys')
    // Keys, objects and lists count four times.
    await accepts('{"a":[1,2,3,4,5],"b":[6,7]}')
    expect(await refusal('{"a":[1,2,3,4,5],"b":[6,7,8]}', limits)).toContain('too many values')
    await accepts('{"a":{"b":1,"c":2,"d":3}}')
    expect(await refusal('{"a":{"b":1,"c":2,"d":3,"e":4}}', limits)).toContain('too many values')
    expect(await refusal('{"a":[[],[],[]]}', limits)).toContain('too many values')
  })
})

test('long contents of messages are kept as they are, other long strings are parsed', async () => {
  const long = 'ä"x'.repeat(30_000)
  const other = [{ type: 'text', text: long }, { image_url: { url: long, text: long } }]
  const given = { messages: [{ content: long }, { content: other }], text: long, content: long }
  const bytes = Buffer.from(JSON.stringify(given))
  const parsed = (await parseInTurns(bytes, true, noTurn)) as typeof given
  const [{ content }, { content: parts }] = parsed.messages as [typeof parsed, typeof parsed]
  expect(content).toBeInstanceOf(LongText)
  expect(parts[0]).toEqual({ type: 'text', text: expect.any(LongText) } as never)
  expect({ ...parsed, messages: [] }).toEqual({ ...given, messages: [] })
  expect(parts[1]).toEqual(other[1] as never)
  expect(JSON.stringify(parsed)).toBe(JSON.stringify(given))
  expect(await parseInTurns(bytes, false, noTurn)).toEqual(given)
})

/** Each is the worst of its kind: escapes, values, levels, keys, strings just short enough. */
const costly: readonly [string, string][] = [
  ['escapes in a text', `{"messages":[{"content":"${'\\n\\"'.repeat(500_000)}"}]}`],
  ['backslashes', `{"x":"${'\\\\'.repeat(1_000_000)}"}`],
  ['a long plain text', `{"x":"${'x '.repeat(1_000_000)}"}`],
  ['empty objects', `{"x":[${'{},'.repeat(300_000)}{}]}`],
  ['a list in a list', `{"x":${'['.repeat(100)}${'1,'.repeat(900_000)}1${']'.repeat(100)}}`],
  ['many keys', `{"x":{${Array.from({ length: 150_000 }, (_, at) => `"k${at}":1`).join()}}}`],
  ['strings', `{"x":[${`"${'\\n'.repeat(32_000)}",`.repeat(30)}1]}`],
  ['long keys', `${`{"${'\\n'.repeat(30_000)}":`.repeat(30)}1${'}'.repeat(30)}`],
]

test.each(costly)('no turn parses much more than its share of %s', async (_, body) => {
  const bytes = Buffer.from(body)
  const parse = JSON.parse
  let [most, turns, inTurn] = [0, 0, 0]
  const takeTurn = async () => {
    turns++
    most = Math.max(most, inTurn)
    inTurn = 0
  }
  JSON.parse = (given: string) => {
    inTurn += given.length
    return parse(given)
  }
  try {
    const parsed = await parseInTurns(bytes, true, takeTurn)
    await takeTurn()
    JSON.parse = parse
    expect(JSON.stringify(parsed).length).toBe(bytes.length)
  } finally {
    JSON.parse = parse
  }
  const { turnBytes, shortBytes } = defaultTurnLimits
  expect(turns).toBeGreaterThan(bytes.length / turnBytes / 2)
  expect(most).toBeLessThan(2 * turnBytes + 2 * shortBytes)
})
