/** Events survive any chunking of the bytes, and the size of an event is bounded. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeComment, encodeEvent, SseDecoder, type SseEvent } from './sse.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

function decodeCut(bytes: Uint8Array, cuts: readonly number[]): SseEvent[] {
  const decoder = new SseDecoder()
  const marks = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)]
  const events = marks.flatMap((from, i) => decoder.push(bytes.slice(from, marks[i + 1])))
  expect(decoder.pending).toBe(false)
  return events
}

describe('encoding', () => {
  test('an event has its name and data lines and ends with an empty line', () => {
    expect(new TextDecoder().decode(encodeEvent('{"a":1}', 'ping'))).toBe(
      'event: ping\ndata: {"a":1}\n\n',
    )
    expect(new TextDecoder().decode(encodeEvent('[DONE]'))).toBe('data: [DONE]\n\n')
  })

  test('a comment cannot become an event', () => {
    const decoder = new SseDecoder()
    expect(decoder.push(encodeComment('wait\n\ndata: x'))).toEqual([])
  })
})

describe('decoding', () => {
  test('encoded events decode to the same events, however they are chunked', () => {
    const event = fc.record({
      event: fc.option(fc.stringMatching(/^[a-z_]{1,20}$/), { nil: undefined }),
      data: fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\r', '')),
    })
    fc.assert(
      fc.property(fc.array(event), fc.array(fc.nat(), { maxLength: 20 }), (events, cuts) => {
        const parts = events.flatMap(({ data, event }) => [
          ...encodeEvent(data, event),
          ...encodeComment('x'),
        ])
        expect(decodeCut(Uint8Array.from(parts), cuts)).toEqual(events)
      }),
    )
  })

  test('LF, CR and CRLF all end a line, wherever the chunks are split', () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const bytes = bytesOf(['event: a', 'data: 1', 'data:2', ': c', 'id: 9', '', ''].join(end))
      for (let cut = 0; cut <= bytes.length; cut++)
        expect(decodeCut(bytes, [cut])).toEqual([{ event: 'a', data: '1\n2' }])
    }
  })

  test('a byte order mark is dropped at the start of the stream only', () => {
    expect(new SseDecoder().push(bytesOf('\ufeffdata: a\n\ndata: \ufeffb\n\n'))).toEqual([
      { event: undefined, data: 'a' },
      { event: undefined, data: '\ufeffb' },
    ])
  })

  test('a stream that stops inside an event is reported as truncated', () => {
    const decoder = new SseDecoder()
    expect(decoder.push(bytesOf('data: a\n'))).toEqual([])
    expect(decoder.pending).toBe(true)
    expect(decoder.push(bytesOf('\n'))).toHaveLength(1)
    expect(decoder.pending).toBe(false)
  })

  test('an event over the limit is refused, in one line or in many', () => {
    expect(() => new SseDecoder(100).push(bytesOf('x'.repeat(101)))).toThrow('longer than 100')
    expect(() => new SseDecoder(100).push(bytesOf('data: x\n'.repeat(20)))).toThrow(
      'longer than 100',
    )
    expect(new SseDecoder(100).push(bytesOf('data: x\n\n'.repeat(50)))).toHaveLength(50)
  })
})
