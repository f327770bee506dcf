import { expect, test } from 'bun:test'
import type { AnswerParts } from './answer-writer.ts'
import { type ShapedLeg, shapedLeg } from './shaped-leg.ts'
import { createShapedWriter } from './shaped-writer.ts'

const headers = { 'content-type': 'text/event-stream' }
const encode = (text: string) => new TextEncoder().encode(text)

/** The client's view of an answer, as one text. */
function startWriter(leg: ShapedLeg, now = () => 0) {
  const state = { text: '', isEnded: false }
  const write = (pieces: readonly Uint8Array[]) => {
    for (const piece of pieces) state.text += new TextDecoder().decode(piece)
    exchange.begun = true
    return true
  }
  const exchange = {
    begun: false,
    writeChunk: write,
    beginChunks: (_: string, pieces: readonly Uint8Array[]) => write(pieces),
    endChunks: () => {
      state.isEnded = true
    },
  }
  const record = { sent: () => {}, status: 200, startedMs: 0 }
  const parts = { app: {}, exchange, dialect: 'openai', record, headers }
  return { writer: createShapedWriter(parts as unknown as AnswerParts, leg, now), state }
}

const leg = shapedLeg('default') as ShapedLeg
const token = encode('data: {"choices": [{"delta": {"content": "a"}}]}\n\n')
const last = encode('data: {"choices": [{"finish_reason": "stop"}]}\n\ndata: [DONE]\n\n')

test('frames that arrive in one piece with the end count like all others', () => {
  const lengths = [0, 1, 26, 59].map((late) => {
    const { writer, state } = startWriter(leg)
    for (let frame = 0; frame < 60 - late; frame++) writer.write(frame < 1 ? [token] : [], 1280)
    writer.end([last], late * 1280)
    expect(state.isEnded).toBe(true)
    expect(state.text.replaceAll(/:\.*\n\n|\n(?=\n\n)/g, '')).toContain('[DONE]')
    return state.text.length
  })
  expect(new Set(lengths)).toEqual(new Set([60 * 1280 + leg.leastTailBytes]))
})

test('the end is not sent before the last frame has arrived, nor is the finish reason if strict', () => {
  for (const shape of ['default', 'strict'] as const) {
    const one = shapedLeg(shape) as ShapedLeg
    let nowMs = 0
    const { writer, state } = startWriter(one, () => nowMs)
    nowMs = one.firstByteAfterMs
    writer.write([token, last], 1280)
    for (let frame = 0; frame < 500; frame++) writer.write([], 1280)
    expect(writer.mayEnd()).toBe(false)
    expect(state.text.includes('stop')).toBe(shape === 'default')
    expect(state.text).not.toContain('[DONE]')
    writer.end([], 0)
    expect(state.text).toContain('[DONE]')
  }
})

test('bytes that arrive before the first may be sent are sent with it', () => {
  const later: ShapedLeg = { ...leg, firstByteAfterMs: 4_000 }
  let nowMs = 0
  const { writer, state } = startWriter(later, () => nowMs)
  writer.write([token], 1280)
  expect(state.text).toBe('')
  nowMs = 4_000
  for (let frame = 1; frame < 60; frame++) writer.write([], 1280)
  writer.end([last], 0)
  expect(state.text.length).toBe(60 * 1280 + leg.leastTailBytes)
})

/** A frame of the native cipher is a `Buffer`, whose `slice` shares its memory. */
const longToken = () =>
  Buffer.from(`data: {"choices": [{"delta": {"content": "${'a'.repeat(3000)}"}}]}\n\n`)

test('what waits for the first byte survives the release of the frame it came in', () => {
  const later: ShapedLeg = { ...leg, firstByteAfterMs: 4_000 }
  let nowMs = 0
  const { writer, state } = startWriter(later, () => nowMs)
  const frame = longToken()
  writer.write([frame], 4096)
  expect(frame.buffer.byteLength).toBe(0)
  nowMs = 4_000
  writer.end([last], 1280)
  expect(state.text).toContain('a'.repeat(3000))
})

test('a long error in place of a stream survives the release of the frames it came in', () => {
  const { writer, state } = startWriter(leg)
  writer.turnToError?.()
  writer.write([Buffer.from(`{"error": {"message": "${'b'.repeat(3000)}"}}`)], 4096)
  writer.end([], 1280)
  expect(state.text).toContain('b'.repeat(3000))
})
