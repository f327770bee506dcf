import { expect, test } from 'bun:test'
import { UsageError } from '../command.ts'
import type { Bytes } from './piece.ts'
import { readPieces } from './read-pieces.ts'

const megabyte = 1_000_000
/** A tenth of a second on an idle machine; the old readers took eight seconds and more. */
const maxMs = 5000
const utf8 = (text: string): Bytes => new TextEncoder().encode(text)
const repeated = (hex: string, length = megabyte): Bytes =>
  new Uint8Array(Buffer.from(hex.repeat(Math.ceil((2 * length) / hex.length)), 'hex'))
const vendorId = '939a7233f79c4ca9940a0db3957f0607'

/** Inputs that took time quadratic in their length, or would in a careless parser. */
const hostile: readonly (readonly [string, () => Bytes])[] = [
  ['lengths that reach the end', () => repeated('3082ffff')],
  ['sequences inside sequences', () => repeated('3082100030820800')],
  ['sequences that parse for a while', () => repeated('3082fff03082ffe8a00302010202010130000000')],
  ['the shortest OCSP answers in a row', () => repeated('30030a0101')],
  ['zeros and then a letter', () => utf8(`${'\0'.repeat(megabyte)}x`)],
  ['equal signs and then a letter', () => utf8(`${'='.repeat(megabyte)}x`)],
  ['headers of quotes', () => repeated(`04000200810000000000000${'0'}${vendorId}`)],
  ['versions of reports', () => repeated('02000000')],
  ['begins of PEM', () => utf8('-----BEGIN A-----\n'.repeat(megabyte / 18))],
  ['blocks of PEM', () => utf8('-----BEGIN A-----\nAAAA\n-----END A-----\n'.repeat(25_000))],
  ['brackets', () => utf8('['.repeat(megabyte / 2) + ']'.repeat(megabyte / 2))],
  ['objects', () => utf8(`[${Array(100_000).fill('{"a":[{"b":1}]}').join(',')}]`)],
  ['strings', () => utf8(JSON.stringify(Array(9_000).fill('x'.repeat(60))))],
  ['numbers', () => utf8(`[${'1,'.repeat(megabyte / 2)}{}]`)],
  ['colons', () => utf8(':'.repeat(megabyte))],
  ['percent signs', () => utf8(`BEGIN%20${'%'.repeat(megabyte)}`)],
  ['lines of a header', () => utf8(`HTTP/1.1 200 OK\n${'\r\n '.repeat(megabyte / 3)}`)],
]

const patience = 120_000

test.each(hostile)(
  'a file of %s is parsed or refused quickly',
  (_, make) => {
    const file = make()
    // Other programs may use the processor: a slow parser is slow every time.
    let least = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < 3 && least > maxMs; attempt += 1) {
      const started = performance.now()
      try {
        readPieces(file)
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError)
      }
      least = Math.min(least, performance.now() - started)
    }
    expect(least).toBeLessThan(maxMs)
  },
  patience,
)

test('a file with too many values or parts is refused, not partly read', () => {
  const values = utf8(`[""${',""'.repeat(200_001)}]`)
  expect(() => readPieces(values)).toThrow('more than 200000 JSON values')
  const parts = utf8(JSON.stringify(Array(10_001).fill('x'.repeat(60))))
  expect(() => readPieces(parts)).toThrow('more than 10000 encoded parts')
  const certificates = repeated(`3082fff03082ffe8${'30'.repeat(60)}`, 4 * megabyte)
  expect(() => readPieces(certificates)).toThrow('begins like a certificate')
})
