import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { ChunkedScanner } from './chunked.ts'
import { MessageError } from './message-error.ts'

/** Feeds `text` in pieces split at the given offsets; returns the payload and where the body ended. */
function scan(text: string, cuts: readonly number[] = []): { payload: string; end: number } {
  const scanner = new ChunkedScanner()
  const bytes = Buffer.from(text, 'latin1')
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])]
  places.sort((a, b) => a - b)
  let payload = ''
  for (const [index, start] of places.entries()) {
    const piece = bytes.subarray(start, places[index + 1] ?? bytes.length)
    const end = scanner.scan(piece, 0, (from, to) => {
      payload += piece.toString('latin1', from, to)
    })
    if (end >= 0) return { payload, end: start + end }
  }
  return { payload, end: -1 }
}

test('a body is followed to its end and no further', () => {
  expect(scan('3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nGET /')).toEqual({
    payload: 'abc0123456789',
    end: 28,
  })
  expect(scan('3\r\nabc\r\n').end).toBe(-1)
})

test('how the bytes are cut makes no difference', () => {
  const chunks = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }))
  fc.assert(
    fc.property(chunks, fc.array(fc.nat()), fc.string(), (parts, cuts, behind) => {
      const framed = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
      const whole = `${framed}0\r\n\r\n`
      const { payload, end } = scan(whole + behind, cuts)
      expect(payload).toBe(parts.join(''))
      expect(end).toBe(whole.length)
    }),
    { numRuns: 500 },
  )
})

test('extensions, trailers, odd sizes and wrong line ends are refused', () => {
  for (const text of [
    '3;x=1\r\nabc\r\n',
    '0\r\nx: 1\r\n\r\n',
    '\r\n',
    ' 3\r\nabc',
    '3 \r\nabc',
    '0x3\r\nabc',
    '+3\r\nabc',
    '-1\r\n',
    '3\nabc\n',
    '3\r\nabcd\r\n',
    '3\r\nabc\n\n',
    '000000003\r\nabc\r\n',
    'FFFFFFFFF\r\n',
  ]) {
    expect(() => scan(text)).toThrow(MessageError)
  }
})

test('any input ends, continues or is refused, and the payload never exceeds it', () => {
  const noise = fc.array(fc.constantFrom('0', '1', 'a', '\r\n', '\r', '\n', 'xyz', ';', ' '))
  fc.assert(
    fc.property(noise, fc.array(fc.nat()), (parts, cuts) => {
      const text = parts.join('')
      try {
        expect(scan(text, cuts).payload.length).toBeLessThanOrEqual(text.length)
      } catch (error) {
        expect(error).toBeInstanceOf(MessageError)
      }
    }),
    { numRuns: 2000 },
  )
})
