import { expect, test } from 'bun:test'
import { parseFields, type RequestHead } from '@privatemode/http'
import { readSealedHead } from './sealed-head.ts'

const good: Readonly<Record<string, string>> = {
  'content-type': 'application/privatemode-sealed',
  'privatemode-request-id': 'ab'.repeat(16),
  'privatemode-model': 'a-model',
  'privatemode-path': '/v1/chat/completions',
  'privatemode-workers': 'w_one, w_two',
}

function headOf(fields: Record<string, string>, more: Partial<RequestHead> = {}): RequestHead {
  const lines = Object.entries({ ...good, ...fields }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return {
    method: 'POST',
    target: '/privatemode/v1/sealed',
    fields: parseFields(lines.join(''), 0),
    framing: 12,
    minorVersion: 1,
    keepAlive: true,
    expectsContinue: false,
    ...more,
  }
}

const codeOf = (head: RequestHead): string | undefined => {
  try {
    readSealedHead(head)
    return undefined
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a sealed request reveals its id, model, path, candidates and length', () => {
  expect(readSealedHead(headOf({}))).toEqual({
    requestId: 'ab'.repeat(16),
    model: 'a-model',
    path: '/v1/chat/completions',
    workerIds: ['w_one', 'w_two'],
    lengthBytes: 12,
  })
})

test('only an HTTP/1.1 POST of sealed bytes with a length is accepted', () => {
  expect(codeOf(headOf({}, { method: 'PUT' }))).toBe('method_not_allowed')
  expect(codeOf(headOf({ 'content-type': 'application/json' }))).toBe('unsupported_media_type')
  expect(codeOf(headOf({}, { framing: 'chunked' }))).toBe('malformed')
  expect(codeOf(headOf({}, { minorVersion: 0 }))).toBe('malformed')
})

test("values copied into the worker's head are validated", () => {
  for (const [name, values] of Object.entries({
    'privatemode-request-id': ['', 'AB'.repeat(16), 'ab'.repeat(15), `${'ab'.repeat(16)} x`],
    'privatemode-model': ['', 'two words', 'a\tb', '\xe4', 'x'.repeat(256)],
    'privatemode-path': ['', '/v2/chat', '/v1/', '/v1/a b', '/v1/A', `/v1/${'x'.repeat(65)}`],
    'privatemode-workers': ['', 'w_one,w_one', 'w one', '../x', 'a,b,c,d,e'],
  })) {
    for (const value of values) {
      expect([name, value, codeOf(headOf({ [name]: value }))]).toEqual([name, value, 'malformed'])
    }
  }
})
