import { expect, spyOn, test } from 'bun:test'
import { type Bytes, encodeText, joinBytes } from '@privatemode/protocol/envelope'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { frameLengths, open, outgoing, pieces, textOf } from '../testing/sealed-stream.ts'
import { sealPieces, sealWhole } from './seal-stream.ts'

test('an engine that fails mid-stream produces no authenticated end without a shape', async () => {
  const sent: Bytes[] = []
  const sink = (sealed: readonly Bytes[]) => void sent.push(joinBytes(sealed))
  const failing = sealPieces(await outgoing(), pieces(['one'], new Error('engine')), sink)
  expect(await thrown(failing)).toThrow('engine')
  expect(await rejection(open(joinBytes(sent)))).toMatchObject({ code: 'truncated' })
})

test('short answers that are not streamed all have the same length, long ones full frames', async () => {
  const lengths = new Set<number>()
  for (const size of [0, 10, 200, 700]) {
    const bytes = joinBytes(await sealWhole(await outgoing(), encodeText('x'.repeat(size))))
    lengths.add(bytes.length)
    expect(textOf(await open(bytes))).toBe('x'.repeat(size))
  }
  expect(lengths.size).toBe(1)
  const long = encodeText('y'.repeat(600_000))
  const bytes = joinBytes(await sealWhole(await outgoing(), long))
  expect(textOf(await open(bytes)).length).toBe(600_000)
  expect(new Set(frameLengths(bytes).slice(1, -1)).size).toBe(1)
})

test('without a shape, the first pieces are sent with the head, and pieces that arrive together share a frame', async () => {
  const sent: Bytes[] = []
  const together = async function* () {
    for (const text of ['one', 'two', 'three', 'four']) yield encodeText(text)
  }
  await sealPieces(await outgoing(), together(), (sealed) => void sent.push(joinBytes(sealed)))
  expect(textOf(await open(joinBytes(sent)))).toBe('onetwothreefour')
  expect(frameLengths(sent[0]!)).toHaveLength(1)
  // The first two pieces, those after them, the end; on a busy machine one of them may miss the moment.
  expect(sent.length).toBeLessThanOrEqual(4)
})

test('without a shape, the first piece is sent before the engine is asked for more', async () => {
  const seen: string[] = []
  const working = async function* () {
    for (const text of ['first', 'more']) {
      seen.push(`made ${text}`)
      yield encodeText(text)
    }
  }
  await sealPieces(await outgoing(), working(), () => void seen.push('sent'))
  expect(seen.slice(0, 3)).toEqual(['made first', 'sent', 'made more'])
})

test('without a shape, the first piece is sent before anyone else gets a turn', async () => {
  const seen: string[] = []
  const first = async function* () {
    yield encodeText('first')
  }
  const out = await outgoing()
  const turn = new Promise(setImmediate).then(() => void seen.push('turn'))
  await sealPieces(out, first(), () => void seen.push('sent'))
  await turn
  expect(seen.slice(0, 2)).toEqual(['sent', 'turn'])
})

test('a head and first piece larger than a frame are split in two', async () => {
  const sent: Bytes[] = []
  const long = 'x'.repeat(256 * 1024)
  await sealPieces(await outgoing(), pieces([long]), (sealed) => void sent.push(joinBytes(sealed)))
  expect(textOf(await open(joinBytes(sent)))).toBe(long)
  expect(frameLengths(sent[0]!)).toHaveLength(2)
})

test('without a shape, a piece is sent immediately, unless others were just sent', async () => {
  let frames = 0
  const slow = async function* () {
    for (let piece = 0; piece < 6; piece++) {
      await Bun.sleep(20)
      yield encodeText('piece')
    }
  }
  const timers = spyOn(globalThis, 'setTimeout')
  await sealPieces(await outgoing(), slow(), () => void frames++)
  const waits = timers.mock.calls.length
  timers.mockRestore()
  expect(frames).toBe(7)
  expect(waits).toBeLessThan(4) // none, if the machine is idle

  frames = 0
  const hasty = async function* () {
    for (let piece = 0; piece < 200; piece++) {
      if (piece % 4 === 3) await new Promise(setImmediate)
      yield encodeText('piece')
    }
  }
  const startMs = performance.now()
  await sealPieces(await outgoing(), hasty(), () => void frames++)
  expect(frames).toBeLessThan(5 + (performance.now() - startMs))
})
