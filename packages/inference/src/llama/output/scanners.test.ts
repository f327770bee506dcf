/** Text that arrives in pieces: where a marker is, and where a JSON value ends. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { JsonValueScanner } from './json-value-scanner.ts'
import { MarkerScanner } from './marker-scanner.ts'

test('a marker is found across pieces, and nothing before it is lost', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.integer({ min: 1, max: 4 }), (before, after, size) => {
      const text = `${before}STOP${after}`
      const scanner = new MarkerScanner()
      let seen = ''
      for (let at = 0; at < text.length; at += size) {
        const { before: part, marker } = scanner.push(text.slice(at, at + size), ['STOP', 'STEP'])
        seen += part
        if (marker !== undefined) break
      }
      expect(seen).toBe(text.slice(0, text.indexOf('STOP')))
    }),
  )
})

test('text without a marker is returned in full', () => {
  const scanner = new MarkerScanner()
  const text = 'STO ST S STO'
  const seen = [...text].map((char) => scanner.push(char, ['STOP']).before).join('')
  expect(seen + scanner.end()).toBe(text)
})

test('the end of any JSON value is found however it is chunked', () => {
  fc.assert(
    fc.property(fc.json(), fc.integer({ min: 1, max: 5 }), (json, size) => {
      const text = `${json.trim()}\n}`
      const scanner = new JsonValueScanner()
      let taken = ''
      for (let at = 0; at < text.length && !scanner.isDone; at += size) {
        const piece = text.slice(at, at + size)
        taken += piece.slice(0, scanner.push(piece))
      }
      expect(JSON.parse(taken)).toEqual(JSON.parse(json))
      expect(taken).toBe(json.trim())
    }),
  )
})
