/**
 * The scanner reads what a full parser reads, and refuses anything but an object with unique keys.
 */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ApiError } from './errors.ts'
import { BodyScanner, scanBody } from './scan-body.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const scan = (text: string) => scanBody(bytesOf(text))

function refusal(body: string | Uint8Array): ApiError {
  try {
    scanBody(typeof body === 'string' ? bytesOf(body) : body)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('the body was accepted')
}

describe('what it finds', () => {
  test('model, stream and cache_salt are found among other fields', () => {
    const body = '{"messages":[{"role":"user","content":"a \\"b\\" {[ c"}],"model":"m/1","n":2,'
    expect(scan(`${body}"stream": true ,"cache_salt":"s\\u0061lt"}`)).toEqual({
      model: 'm/1',
      stream: true,
      cacheSalt: 'salt',
    })
  })

  test('fields of the same name inside nested values are ignored', () => {
    const body = '{"metadata":{"model":"x","stream":true},"tools":[{"cache_salt":"y"}]}'
    expect(scan(body)).toEqual({ model: undefined, stream: false, cacheSalt: undefined })
  })

  test('null counts as absent', () => {
    expect(scan('{"model":null,"stream":null,"cache_salt":null}')).toEqual({
      model: undefined,
      stream: false,
      cacheSalt: undefined,
    })
  })

  test.each([
    ['{"model":3}', 'model'],
    ['{"model":{"a":null}}', 'model'],
    ['{"stream":"true"}', 'stream'],
    ['{"stream":1}', 'stream'],
    ['{"cache_salt":["x"]}', 'cache_salt'],
  ])('a wrong type in %s names the param', (body, param) => {
    expect(refusal(body)).toMatchObject({ code: 'invalid_value', param, status: 400 })
  })
})

describe('what it refuses', () => {
  test.each([
    ['nothing', '', 0],
    ['an array', '[1]', 0],
    ['null', 'null', 0],
    ['a byte order mark', '\ufeff{}', 0],
    ['a key without quotes', '{a:1}', 1],
    ['a comma at the end', '{"a":1,}', 7],
    ['a missing colon', '{"a" 1}', 5],
    ['a missing comma', '{"a":1 "b":2}', 7],
    ['text after the end', '{} x', 3],
    ['a number with a leading zero', '{"a":01}', 5],
    ['a broken literal', '{"a":nul}', 5],
    ['a string that never ends', '{"a":"b', 5],
    ['a string whose quote is escaped', '{"a":"b\\"}', 5],
    ['an array that never ends', '{"a":[1,2', 5],
    ['brackets that do not match', '{"a":[1}}', 7],
    ['an object that never ends', '{"a":1', 6],
    ['a bad escape in a key', '{"\\x":1}', 1],
    ['a control character in a key', '{"a\u0001":1}', 1],
    ['a key that begins with a letter', '{xmodel":"m"}', 1],
    ['a second key that begins with a letter', '{"model":"m",xmodel":"n"}', 13],
  ])('%s is refused with its offset', (_, body, offset) => {
    const error = refusal(body)
    expect(error.code).toBe('invalid_json')
    expect(error.message).toContain(`(at byte ${offset})`)
  })

  test('a duplicate key is refused, even when one is spelled with escapes', () => {
    expect(refusal('{"model":"a","model":"b"}').message).toContain("'model' twice")
    expect(refusal('{"model":"a","mod\\u0065l":"b"}').message).toContain("'model' twice")
    expect(refusal('{"Secret prompt":1,"Secret prompt":2}').message).not.toContain('Secret')
  })

  test('invalid UTF-8 in a key or in a needed value is refused', () => {
    expect(refusal(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)).code).toBe(
      'invalid_json',
    )
    const model = bytesOf('{"model":"??"}')
    model[10] = 0xc3
    model[11] = 0x28
    expect(refusal(model).code).toBe('invalid_json')
  })

  test('128 levels are read and 129 are refused', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    expect(scan(nested(128)).model).toBeUndefined()
    expect(refusal(nested(129)).message).toContain('deeper than 128')
  })

  test('more keys than the limit are refused', () => {
    const body = `{${Array.from({ length: 1025 }, (_, i) => `"k${i}":0`).join(',')}}`
    expect(refusal(body).message).toContain('more than 1024 keys')
  })
})

describe('against a full parser', () => {
  const fields = fc.record(
    {
      model: fc.string({ unit: 'binary' }),
      stream: fc.constantFrom(true, false, null),
      cache_salt: fc.option(fc.string({ unit: 'grapheme' })),
      messages: fc.jsonValue({ maxDepth: 6 }),
      temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
    },
    { requiredKeys: [] },
  )
  const expected = (value: Record<string, unknown>) => ({
    model: value.model ?? undefined,
    stream: value.stream ?? false,
    cacheSalt: value.cache_salt ?? undefined,
  })

  test('every object is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fields, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect<unknown>(scan(text)).toEqual(expected(JSON.parse(text)))
      }),
      { numRuns: 1000 },
    )
  })

  test('after any one-byte change, a body that a parser accepts is read the same way or refused', () => {
    const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) })
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    fc.assert(
      fc.property(fields, change, (value, { at, byte }) => {
        const bytes = bytesOf(JSON.stringify(value))
        bytes[at % bytes.length] = byte
        const scanned = attempt(() => scanBody(bytes))
        const parsed = attempt(() => JSON.parse(strict.decode(bytes)))
        if (scanned instanceof Error || parsed instanceof Error) return
        expect<unknown>(scanned).toEqual(expected(parsed as Record<string, unknown>))
      }),
      { numRuns: 2000 },
    )
  })

  test('a body that arrives in pieces is read or refused as the whole body is', () => {
    const change = fc.option(fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) }))
    const cuts = fc.array(fc.nat(), { maxLength: 8 })
    fc.assert(
      fc.property(fields, change, cuts, (value, changed, places) => {
        const bytes = bytesOf(JSON.stringify(value))
        if (changed !== null) bytes[changed.at % bytes.length] = changed.byte
        const scanner = new BodyScanner()
        for (const end of places.map((at) => at % bytes.length).sort((a, b) => a - b))
          scanner.push(bytes.subarray(0, end))
        const whole = attempt(() => scanBody(bytes))
        expect(attempt(() => scanner.finish(bytes))).toEqual(whole)
      }),
      { numRuns: 3000 },
    )
  })

  test('a body truncated anywhere is refused', () => {
    fc.assert(
      fc.property(fields, fc.nat(), (value, cut) => {
        const bytes = bytesOf(JSON.stringify(value))
        expect(refusal(bytes.subarray(0, cut % bytes.length)).code).toBe('invalid_json')
      }),
      { numRuns: 500 },
    )
  })

  test('the malformed bodies it lets through are exactly those that the file header lists', () => {
    for (const body of ['{"a":[1 2]}', '{"a":{"b" 1}}', '{"a":[tru]}', '{"a":"\\x"}', '{"a":"\n"}'])
      expect(attempt(() => scan(body))).not.toBeInstanceOf(Error)
  })
})

test('a body of more nested values than the limit is refused, however they are nested', () => {
  const limits = { maxDepth: 8, maxKeys: 8, maxValues: 4 }
  const values = (text: string) => attempt(() => scanBody(bytesOf(text), limits))
  for (const body of ['{"a":[1,2,3,4]}', '{"a":[1,2],"b":[3,4]}', '{"a":"[,[,[,[,[,"}']) {
    expect(values(body)).not.toBeInstanceOf(Error)
  }
  for (const body of ['{"a":[1,2,3,4,5]}', '{"a":[[],[],[]]}', '{"a":[1,2],"b":[3,4,5]}']) {
    expect(values(body)).toMatchObject({ code: 'invalid_json' })
  }
})

test('a string is not searched again for each piece of it that arrives', () => {
  const body = bytesOf(`{"model":"m","messages":["${'\\"'.repeat(200_000)}"]}`)
  const scanner = new BodyScanner()
  const started = performance.now()
  for (let end = 1; end < body.length; end += 2) scanner.push(body.subarray(0, end))
  expect(scanner.finish(body).model).toBe('m')
  // It takes a tenth of a second, and over a minute if each piece starts over.
  expect(performance.now() - started).toBeLessThan(5_000)
})

function attempt(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}
