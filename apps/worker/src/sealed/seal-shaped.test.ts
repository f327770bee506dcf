import { expect, test } from 'bun:test'
import { type AnswerPart, type Bytes, encodeText, joinBytes } from '@privatemode/protocol/envelope'
import { thrown } from '../../../../test/rejection.ts'
import { frameLengths, open, outgoing, pieces, textOf } from '../testing/sealed-stream.ts'
import { type Begun, sealFromStart, sealShaped } from './seal-shaped.ts'
import { fitToPace, type StreamShape, shapedUnits, shapeOf } from './traffic-shape.ts'

const shape: StreamShape = {
  ...{ tickMs: 2, unitBytes: 256, unitsPerTick: 1, leastUnits: 8, leastTokens: 0, growth: 2 },
  marksWhole: true,
  ...{ startsAfterMs: 60_000, patienceTicks: 8, burstTicks: 16 },
}

async function shaped(
  texts: readonly string[],
  over: Partial<StreamShape> = {},
  failure?: Error,
): Promise<Bytes[]> {
  const sent: Bytes[] = []
  const sink = (sealed: readonly Bytes[]) => void sent.push(joinBytes(sealed))
  await sealShaped(await outgoing(), pieces(texts, failure), { ...shape, ...over }, sink)
  return sent
}

/** Units on the wire; the last frame, which holds the receipt, has none. */
function unitsOf(bytes: Bytes): number[] {
  return frameLengths(bytes)
    .slice(0, -1)
    .map((length) => (length - 16) / shape.unitBytes)
}

const sum = (units: readonly number[]) => units.reduce((all, one) => all + one, 0)

const kinds = (parts: readonly AnswerPart[]) => parts.map(({ kind }) => kind)

test('every frame of a shaped stream has the same length, whatever its content', async () => {
  const texts = ['a', 'bb'.repeat(90), 'c', 'd'.repeat(700), 'e']
  const bytes = joinBytes(await shaped(texts))
  expect(new Set(unitsOf(bytes))).toEqual(new Set([1]))
  expect(textOf(await open(bytes))).toBe(texts.join(''))
})

test('a frame holds the units of one tick, as set by the pace, however much data is waiting', async () => {
  for (const size of [9_000, 11_000, 14_000]) {
    let bytes = new Uint8Array()
    let units: number[] = []
    // A late clock sends the frames it owes before the pace can double: allow a few tries on a busy core.
    for (let tries = 0; tries < 8 && (tries === 0 || units.length >= 32); tries++) {
      bytes = joinBytes(await shaped(['x'.repeat(size)], { tickMs: 10 }))
      units = unitsOf(bytes)
    }
    expect(units.slice(0, 2)).toEqual([1, 1])
    // Only the last may be cut, where the shared length is reached.
    for (const [at, count] of units.slice(1, -1).entries()) {
      expect([units[at]!, 2 * units[at]!]).toContain(count)
    }
    expect(sum(units)).toBe(64)
    expect(units.length).toBeLessThan(32)
    expect(textOf(await open(bytes)).length).toBe(size)
  }
})

test('answers of many lengths have the same number of frames, and the next step is a multiple of it', async () => {
  const counts = new Set<number>()
  for (const size of [0, 1, 300, 900]) {
    const bytes = joinBytes(await shaped(size === 0 ? [] : ['x'.repeat(size)]))
    counts.add(sum(unitsOf(bytes)))
    expect(textOf(await open(bytes)).length).toBe(size)
  }
  expect(counts).toEqual(new Set([8]))
  const longer = joinBytes(await shaped(['x'.repeat(2500)]))
  expect(sum(unitsOf(longer))).toBe(16)
})

test('frames keep their pace while the engine is silent', async () => {
  const released = Promise.withResolvers<void>()
  const silent = async function* () {
    yield encodeText('one')
    await released.promise
    yield encodeText('two')
  }
  const sent: Bytes[] = []
  const sink = (sealed: readonly Bytes[]) => {
    sent.push(joinBytes(sealed))
    if (sent.length === 6) released.resolve() // reached only because empty frames were sent
  }
  await sealShaped(await outgoing(), silent(), shape, sink)
  expect(textOf(await open(joinBytes(sent)))).toBe('onetwo')
})

test('a complete body is marked before the padding, unless its end is delayed on purpose', async () => {
  const early = await shaped(['all of it'])
  expect(kinds(await open(joinBytes(early)))).toEqual(['head', 'data', 'whole', 'end'])
  const late = await shaped(['all of it'], { marksWhole: false })
  expect(kinds(await open(joinBytes(late)))).toEqual(['head', 'data', 'end'])
  expect(frameLengths(joinBytes(late))).toEqual(frameLengths(joinBytes(early)))
})

test('the first piece travels with the head', async () => {
  const [first, ...rest] = await shaped(['hello'])
  expect(frameLengths(first!).length).toBe(1)
  expect(rest.length).toBeGreaterThan(1)
  const parts = await open(joinBytes([first!, ...rest]))
  expect(textOf(parts.slice(0, 2))).toBe('hello')
})

test('an engine faster than the clock doubles the pace', async () => {
  const texts = Array.from({ length: 60 }, () => 'y'.repeat(1000))
  const sent = await shaped(texts, { tickMs: 20 })
  const ticks = sent.slice(1, -1).map((bytes) => Math.floor(bytes.length / 256))
  // At one frame a tick it would take 250 ticks.
  expect(ticks.length).toBeLessThan(60)
  // The pace never drops, or the end of the data would show; only the last tick may be cut.
  expect(Math.min(...ticks.slice(-4, -1))).toBeGreaterThanOrEqual(8)
  // How full the frames are depends on when pieces arrived; either way the length is one of the steps.
  expect([256, 512]).toContain(sum(unitsOf(joinBytes(sent))))
})

test('a clock that was late sends the frames it owes', async () => {
  const sent: Bytes[] = []
  const sink = async (sealed: readonly Bytes[]) => {
    sent.push(joinBytes(sealed))
    if (sent.length === 2) await Bun.sleep(60) // a slow reader or machine
  }
  const slow = { ...shape, tickMs: 10, leastUnits: 16 }
  await sealShaped(await outgoing(), pieces(['one']), slow, sink)
  const third = frameLengths(joinBytes([new Uint8Array(52), sent[2]!]))
  expect(third.length).toBeGreaterThan(1)
  expect(sum(unitsOf(joinBytes(sent)))).toBe(16)
})

test('neither a fast engine nor a late clock makes a tick longer than a full frame', async () => {
  const sent: Bytes[] = []
  const sink = async (sealed: readonly Bytes[]) => {
    sent.push(joinBytes(sealed))
    if (sent.length > 20) await Bun.sleep(20) // ten ticks late, each time
  }
  const text = 'z'.repeat(300_000)
  await sealShaped(await outgoing(), pieces([text]), shape, sink)
  const prelude = new Uint8Array(52)
  const lengths = sent.slice(1, -1).map((bytes) => frameLengths(joinBytes([prelude, bytes])))
  const ticks = lengths.map((frames) =>
    sum(frames.map((length) => (length - 16) / shape.unitBytes)),
  )
  expect(Math.max(...ticks)).toBeLessThanOrEqual(32)
  expect(textOf(await open(joinBytes(sent)))).toBe(text)
})

test('an engine that fails mid-stream produces no authenticated end', async () => {
  for (const marksWhole of [false, true]) {
    const failed = shaped(['one', 'two'], { marksWhole }, new Error('engine'))
    expect(await thrown(failed)).toThrow('engine')
  }
})

test('a reader that disconnects stops the stream', async () => {
  let taken = 0
  const sink = () => {
    if (++taken > 3) throw new Error('gone')
  }
  const endless = async function* (): AsyncGenerator<Bytes, undefined> {
    for (;;) {
      await Bun.sleep(1)
      yield encodeText('more ')
    }
  }
  const stream = endless()
  const sealing = sealShaped(await outgoing(), stream, shape, sink)
  expect(await thrown(sealing)).toThrow('gone')
  await stream.return(undefined)
})

test('a reader that disconnects while much is waiting leaves nothing running', async () => {
  const stopped = Promise.withResolvers<void>()
  const long = async function* (): AsyncGenerator<Bytes> {
    try {
      yield encodeText('x'.repeat(1_000_000))
      yield encodeText('never read')
    } finally {
      stopped.resolve()
    }
  }
  const sink = () => Promise.reject(new Error('gone'))
  expect(await thrown(sealShaped(await outgoing(), long(), shape, sink))).toThrow('gone')
  await stopped.promise
})

test('lengths grow in powers', () => {
  expect([0, 8, 9, 16, 17, 100].map((frames) => shapedUnits(frames, shape))).toEqual([
    8, 8, 16, 16, 32, 128,
  ])
  expect(shapeOf('off').stream).toBeUndefined()
  expect(shapeOf('default').stream).toMatchObject({ marksWhole: true, startsAfterMs: 250 })
  expect(shapeOf('strict').stream).toMatchObject({ marksWhole: false, startsAfterMs: 0 })
})

test('the shortest stream lasts as long as a fixed number of tokens on this engine', () => {
  const seconds = (name: 'default' | 'strict', tokensPerSecond: number | undefined) => {
    const ms = tokensPerSecond === undefined ? undefined : 1000 / tokensPerSecond
    const { leastUnits, unitsPerTick, tickMs } = fitToPace(shapeOf(name).stream!, ms)
    return ((leastUnits / unitsPerTick) * tickMs) / 1000
  }
  const speeds = [undefined, 1, 10, 25, 50, 100, 200, 1_000_000]
  expect(speeds.map((speed) => seconds('default', speed))).toEqual([
    16, 128, 76.8, 32, 16, 8, 4, 0.25,
  ])
  expect(speeds.map((speed) => seconds('strict', speed))).toEqual([
    64, 512, 307.2, 128, 64, 32, 16, 1,
  ])
})

test('an engine known to be fast gets a faster clock from the start', async () => {
  const bytes = joinBytes(await shaped(['a'], { unitsPerTick: 4, leastUnits: 64 }))
  expect(unitsOf(bytes).slice(0, 3)).toEqual([1, 4, 4])
  expect(sum(unitsOf(bytes))).toBe(64)
  expect(fitToPace(shape, 20)).toBe(shape) // lengths that do not depend on the pace
})

test('the body is reported as sent once it was, and a cut in the padding does not change that', async () => {
  for (const [breaksAt, told] of [
    [1, 0],
    [4, 1],
  ] as const) {
    let [sent, whole] = [0, 0]
    const sink = () => {
      if (++sent === breaksAt) throw new Error('gone')
    }
    const out = { ...(await outgoing()), whole: () => void whole++ }
    // Long enough to be cut within its padding, even if a late clock sends many frames together.
    const long = { ...shape, leastUnits: 64 }
    expect(await thrown(sealShaped(out, pieces(['all of it']), long, sink))).toThrow('gone')
    expect(Math.min(whole, 1)).toBe(told)
  }
})

test('a large chunk is spread over ticks instead of ending the stream early', async () => {
  const { stream } = shapeOf('default')
  const patient = { ...stream!, tickMs: 2 }
  const seen: number[][] = []
  for (const size of [300, 17_000]) {
    const sent: Bytes[] = []
    const sink = (sealed: readonly Bytes[]) => void sent.push(joinBytes(sealed))
    await sealShaped(await outgoing(), pieces(['x'.repeat(size)]), patient, sink)
    const bytes = joinBytes(sent)
    expect(textOf(await open(bytes)).length).toBe(size)
    seen.push([...new Set(frameLengths(bytes).slice(0, -1))])
  }
  const frame = patient.unitBytes + 16
  expect(seen).toEqual([[frame], [frame]])
})

test('an answer that has not begun is padding, and its start time does not show', async () => {
  const begun = Promise.withResolvers<Begun>()
  const out = await outgoing()
  const sent: Bytes[] = []
  const sink = (sealed: readonly Bytes[]) => {
    sent.push(joinBytes(sealed))
    // Reached only because frames were sent before there was an answer.
    if (sent.length === 4) begun.resolve({ out, pieces: pieces(['all of it']) })
  }
  const long = { ...shape, leastUnits: 64, startsAfterMs: 0, marksWhole: false }
  await sealFromStart(out.sealer, begun.promise, long, sink)
  const bytes = joinBytes(sent)
  expect(kinds(await open(bytes))).toEqual(['head', 'data', 'end'])
  expect(new Set(unitsOf(bytes))).toEqual(new Set([1]))
  expect(sum(unitsOf(bytes))).toBe(64)
})

test('an answer that never begins has no authenticated end', async () => {
  const failed = Promise.reject(new Error('engine'))
  const { sealer } = await outgoing()
  const sealing = sealFromStart(sealer, failed, shape, () => {})
  expect(await thrown(sealing)).toThrow('engine')
})
