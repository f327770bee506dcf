import { expect, test } from 'bun:test'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { maxCandidates } from '../fleet/index.ts'
import { joinBytes } from './byte-strings.ts'
import {
  encapsulationLength,
  formatContext,
  formatRecipients,
  maxRecipients,
  parsePrelude,
  type RecipientSet,
} from './prelude.ts'

const context = {
  requestId: new Uint8Array(16).fill(1),
  issuedAtMs: 1_800_000_000_123,
  method: 'POST',
  path: '/v1/chat/completions',
  model: 'models/größe',
}
const recipient = (id: number) => ({
  sealKeyId: new Uint8Array(16).fill(id),
  encapsulation: new Uint8Array(encapsulationLength).fill(id),
})
const prelude = (count: number) => {
  const recipients = Array.from({ length: count }, (_, i) => recipient(i))
  const set = formatRecipients(nativeCrypto, recipients) as RecipientSet
  return joinBytes([formatContext(context), set.bytes, new Uint8Array(48 * count)])
}

const codeOf = (act: () => unknown) => {
  try {
    act()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'accepted'
}

test('a prelude parses to what was written', () => {
  const parsed = parsePrelude(prelude(3))
  expect(parsed?.context).toEqual(context)
  expect(parsed?.recipients.map(({ sealKeyId }) => sealKeyId[0])).toEqual([0, 1, 2])
  expect(parsed?.length).toBe(prelude(3).length)
})

test('an incomplete prelude asks for more bytes', () => {
  const whole = prelude(1)
  for (let length = 0; length < whole.length; length += 7) {
    expect(parsePrelude(whole.subarray(0, length))).toBeUndefined()
  }
})

test('another magic is refused at once', () => {
  const other = prelude(1)
  other[3] = '2'.charCodeAt(0)
  expect(codeOf(() => parsePrelude(other))).toBe('malformed')
})

test('a request has at least one recipient and at most four, each of which the gateway may choose', () => {
  expect(maxRecipients).toBe(maxCandidates)
  expect(codeOf(() => prelude(0))).toBe('too_large')
  expect(codeOf(() => prelude(maxRecipients + 1))).toBe('too_large')
  const text = formatContext(context)
  for (const count of [0, maxRecipients + 1, 255]) {
    const bytes = new Uint8Array([...text, count, ...new Uint8Array(8000)])
    expect(codeOf(() => parsePrelude(bytes))).toBe('malformed')
  }
})

test('a text that does not fit its length byte is refused by name', () => {
  for (const name of ['method', 'path', 'model'] as const) {
    const format = () => formatContext({ ...context, [name]: 'ä'.repeat(128) })
    expect(codeOf(format)).toBe('too_large')
    expect(format).toThrow(`the ${name} has 256 bytes, at most 255 fit`)
  }
})

test('a request id that is not 16 bytes long is refused: it would shift the fields after it', () => {
  for (const length of [0, 15, 17, 32]) {
    const requestId = new Uint8Array(length)
    expect(codeOf(() => formatContext({ ...context, requestId }))).toBe('malformed')
  }
})

test('a context that is not UTF-8 is refused', () => {
  const broken = prelude(1)
  broken[broken.indexOf('P'.charCodeAt(0), 28)] = 0xff
  expect(codeOf(() => parsePrelude(broken))).toBe('malformed')
})
