import { expect, test } from 'bun:test'
import {
  AnswerOpener,
  type AnswerPart,
  AnswerSealer,
  type Bytes,
  encodeText,
  joinBytes,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import { type Outgoing, sealPieces, sealShaped, sealWhole } from './seal-stream.ts'

const requestKey = new Uint8Array(32).fill(1)
const digest = new Uint8Array(32).fill(2)
const sealKeyId = new Uint8Array(16).fill(3)
const head = { status: 200, headers: {} }
const shape = { tickMs: 5, frameBytes: 256, cover: false, lengthStep: 1 }

async function outgoing(): Promise<Outgoing> {
  const sealer = await AnswerSealer.start(nativeCrypto, requestKey, digest, sealKeyId)
  return { sealer, head, finish: () => encodeText('{"receipt":1}') }
}

async function open(bytes: Bytes): Promise<AnswerPart[]> {
  const workers = [{ workerId: 'w', sealKeyId }]
  const opener = new AnswerOpener(nativeCrypto, requestKey, digest, workers)
  const parts = await opener.push(bytes)
  opener.finish()
  return parts
}

const textOf = (parts: readonly AnswerPart[]) =>
  parts.map((part) => (part.kind === 'data' ? new TextDecoder().decode(part.bytes) : '')).join('')

async function* pieces(texts: readonly string[], failure?: Error): AsyncGenerator<Bytes> {
  for (const text of texts) {
    await Bun.sleep(1)
    yield encodeText(text)
  }
  if (failure !== undefined) throw failure
}

/** The lengths of frames on the wire, without the clear prelude of 52 bytes. */
function frameLengths(bytes: Bytes): number[] {
  const lengths: number[] = []
  for (let at = 52; at < bytes.length; at += 5 + (lengths.at(-1) ?? 0)) {
    lengths.push(new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0))
  }
  return lengths
}

async function shaped(texts: readonly string[], over = {}, failure?: Error): Promise<Bytes> {
  const sent: Bytes[] = []
  const sink = (bytes: Bytes) => void sent.push(bytes)
  await sealShaped(await outgoing(), pieces(texts, failure), { ...shape, ...over }, sink)
  return joinBytes(sent)
}

test('every frame of a shaped stream has the same length, whatever is inside', async () => {
  const texts = ['a', 'bb'.repeat(90), 'c', 'd'.repeat(700), 'e']
  const bytes = await shaped(texts)
  const lengths = frameLengths(bytes)
  expect(new Set(lengths.slice(0, -1))).toEqual(new Set([256 + 16]))
  expect(textOf(await open(bytes))).toBe(texts.join(''))
})

test('a covered stream goes on at its pace without data, to a multiple of its step', async () => {
  const bytes = await shaped(['one', 'two'], { cover: true, lengthStep: 20 })
  expect(frameLengths(bytes).length - 1).toBe(20)
  expect(textOf(await open(bytes))).toBe('onetwo')
})

test('an engine that fails in mid-stream gives no authenticated end', async () => {
  for (const cover of [false, true]) {
    const failed = shaped(
      ['one', 'two'],
      { cover, lengthStep: cover ? 10 : 1 },
      new Error('engine'),
    )
    await expect(failed).rejects.toThrow('engine')
  }
  const sent: Bytes[] = []
  const out = await outgoing()
  const unshaped = sealPieces(
    out,
    pieces(['one'], new Error('engine')),
    (bytes) => void sent.push(bytes),
  )
  await expect(unshaped).rejects.toThrow('engine')
  await expect(open(joinBytes(sent))).rejects.toMatchObject({ code: 'truncated' })
})

test('a reader that went away stops the stream', async () => {
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
  await expect(sealing).rejects.toThrow('gone')
  await stream.return(undefined)
})

test('short answers that are not streamed all have one length, long ones full frames', async () => {
  const lengths = new Set<number>()
  for (const size of [0, 10, 200, 700]) {
    const bytes = await sealWhole(await outgoing(), encodeText('x'.repeat(size)))
    lengths.add(bytes.length)
    expect(textOf(await open(bytes))).toBe('x'.repeat(size))
  }
  expect(lengths.size).toBe(1)
  const long = encodeText('y'.repeat(600_000))
  const bytes = await sealWhole(await outgoing(), long)
  expect(textOf(await open(bytes)).length).toBe(600_000)
  expect(new Set(frameLengths(bytes).slice(1, -1)).size).toBe(1)
})
