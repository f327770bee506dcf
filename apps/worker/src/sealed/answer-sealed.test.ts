import { expect, test } from 'bun:test'
import { type AttestedWorker, parseStatement } from '@privatemode/attestation'
import {
  type AnswerPart,
  type Bytes,
  encodeText,
  establishSession,
  formatHex,
  joinBytes,
  ReplayGuard,
  type RequestContext,
  sealRequest,
  type TrafficShape,
  type UsageRecord,
} from '@privatemode/protocol/envelope'
import { nativeCrypto } from '@privatemode/service/native-crypto'
import {
  chatModel,
  ScriptedEngine,
} from '../../../../packages/inference/src/testing/scripted-engine.ts'
import { until } from '../../../../packages/inference/src/testing/until.ts'
import { rejection } from '../../../../test/rejection.ts'
import { statementFacts } from '../testing/statement-facts.ts'
import { answerSealed, type SealedReply, type SealedService } from './answer-sealed.ts'
import { EnginePace } from './engine-pace.ts'
import { ReceiptSigner } from './receipts.ts'
import { SealKeys } from './seal-keys.ts'
import { type Shape, shapeOf } from './traffic-shape.ts'

const minuteMs = 60_000
const path = '/v1/chat/completions'

/** The real shapes with short ticks. */
function short(name: TrafficShape): Shape {
  const { stream, whole } = shapeOf(name)
  return { stream: stream && { ...stream, tickMs: 5, leastUnits: 60, leastTokens: 0 }, whole }
}

/** A worker without its listener: the test controls its clock and inspects its usage records. */
class TestService {
  nowMs = Date.UTC(2026, 0, 1)
  readonly booked: UsageRecord[] = []
  readonly held: Promise<void>[] = []
  readonly service: SealedService
  #requests = 0

  constructor(engine = new ScriptedEngine({ deltas: [{ content: 'all of it' }] })) {
    const signer = new ReceiptSigner()
    const now = () => new Date(this.nowMs)
    const keys = new SealKeys({ ...statementFacts, receiptKey: signer.publicKey }, now)
    const guard = new ReplayGuard(undefined, () => this.nowMs)
    const meter = (_: unknown, record: UsageRecord) => void this.booked.push(record)
    const held = (record: Promise<void>) => void this.held.push(record)
    this.service = {
      workerId: 'w_1',
      engine,
      keys,
      guard,
      signer,
      meter,
      held,
      now,
      pace: new EnginePace(),
      shapeOf: short,
    }
  }

  /** A session with the current key. It was not attested: these tests are only about serving. */
  async session() {
    const { statement, statementDigest } = await this.service.keys.current()
    const { workerId, sealKey } = await parseStatement(statement)
    return establishSession({ workerId, sealKey, statementDigest } as unknown as AttestedWorker)
  }

  async ask(
    shape: TrafficShape,
    signal = new AbortController().signal,
    session = this.session(),
    stream = true,
    content = 'say it',
  ) {
    const requestId = new Uint8Array(16).fill(++this.#requests)
    const fixed = { method: 'POST', path, model: chatModel.id }
    const context: RequestContext = { ...fixed, requestId, issuedAtMs: this.nowMs }
    const messages = [{ role: 'user', content }]
    const body = encodeText(JSON.stringify({ model: chatModel.id, messages, stream }))
    const head = { headers: {}, shape }
    const sealed = await sealRequest(nativeCrypto, [await session], context, head, body)
    const ids = { requestId: formatHex(requestId), keyRef: 'k', admission: 'a'.repeat(64) }
    const view = { ...ids, model: chatModel.id, path }
    const abort = new AbortController()
    signal.addEventListener('abort', () => abort.abort())
    const reply = await answerSealed(this.service, sealed.bytes, view, abort)
    return { opener: sealed.opener, body: bodyOf(reply, abort.signal), sealed: sealed.bytes }
  }
}

/** What a client would read; it disconnects with the signal. */
function bodyOf(reply: SealedReply, signal: AbortSignal): ReadableStream<Bytes> {
  if (reply.kind === 'whole') return new Response(joinBytes(reply.pieces)).body!
  signal.addEventListener('abort', () => reply.cancel())
  return new ReadableStream<Bytes>({
    start(controller) {
      const sink = (sealed: readonly Bytes[]) => {
        signal.throwIfAborted()
        controller.enqueue(joinBytes(sealed))
      }
      const ended = () => controller.close()
      reply.seal(sink).then(ended, (error: unknown) => controller.error(error))
    },
    cancel: () => reply.cancel(),
  })
}

/** Reads an answer up to a part of this kind and returns the text so far; the rest is not read. */
async function readUntil(
  { opener, body }: Awaited<ReturnType<TestService['ask']>>,
  kind: AnswerPart['kind'],
): Promise<string> {
  const reader = body.getReader()
  let said = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the answer ended without ${kind}`)
    for (const part of await opener.push(value as Bytes)) {
      if (part.kind === 'data') said += new TextDecoder().decode(part.bytes)
      if (part.kind === kind) return said
    }
  }
}

test('an answer cut in its padding, after the client has all of it, is booked as complete', async () => {
  const worker = new TestService()
  const client = new AbortController()
  const said = await readUntil(await worker.ask('default', client.signal), 'whole')
  expect(said).toContain('all of it')
  expect(worker.booked).toEqual([]) // the padding is still on its way
  worker.nowMs += minuteMs
  client.abort()
  await until(() => worker.booked.length > 0)
  // The padding does not count as part of its duration.
  const booked = { outcome: 'complete', completion_tokens: 3, duration_ms: 0 }
  expect(worker.booked).toMatchObject([booked])
})

test('an answer cut before the client has all of it is booked as aborted', async () => {
  const held = Promise.withResolvers<void>()
  const beforeChunk = (index: number) => (index === 0 ? undefined : held.promise)
  const deltas = [{ content: 'a part' }, { content: ' and the rest' }]
  const worker = new TestService(new ScriptedEngine({ deltas, beforeChunk }))
  const client = new AbortController()
  await readUntil(await worker.ask('default', client.signal), 'data')
  client.abort()
  await until(() => worker.booked.length > 0)
  held.resolve()
  expect(worker.booked).toMatchObject([{ outcome: 'aborted' }])
})

test('an answer cut while its counts are requested is booked once, with the counts', async () => {
  const counted = Promise.withResolvers<void>()
  const deltas = [{ content: 'a part' }, { content: ' and the rest' }]
  const engine = new ScriptedEngine({
    deltas,
    beforeChunk: (index) => (index === 0 ? undefined : new Promise(() => {})),
    before: (call) => {
      const settle = async () => {
        await counted.promise
        const usage = { promptTokens: 3000, cachedTokens: undefined, completionTokens: 145 }
        call.onUsage?.({ ...usage, countedBy: 'tokenizer' })
      }
      call.signal.addEventListener('abort', () => call.onSettling?.(settle()))
    },
  })
  const worker = new TestService(engine)
  const client = new AbortController()
  await readUntil(await worker.ask('off', client.signal), 'data')
  client.abort()
  await until(() => worker.held.length > 0)
  expect(worker.booked).toEqual([])
  counted.resolve()
  await Promise.all(worker.held)
  expect(worker.booked).toMatchObject([
    { outcome: 'aborted', prompt_tokens: 3000, completion_tokens: 145, cached_tokens: 0 },
  ])
})

test('a worker whose clock was set back serves later requests under a new key', async () => {
  const worker = new TestService()
  const before = worker.session()
  for (let step = 0; step < 4; step++) {
    worker.nowMs += 10 * minuteMs
    await readUntil(await worker.ask('off', undefined, before), 'end')
  }
  worker.nowMs -= 40 * minuteMs
  // A request sealed earlier cannot be told from a replay: the client has to find the new key.
  const old = worker.ask('off', undefined, before)
  expect(await rejection(old)).toMatchObject({ code: 'unknown_key' })
  expect(await readUntil(await worker.ask('off'), 'end')).toContain('all of it')
})

async function lengthOf({ body }: Awaited<ReturnType<TestService['ask']>>): Promise<number> {
  return (await new Response(body).arrayBuffer()).byteLength
}

test('an error looks like the shortest stream, whether one was asked for or not', async () => {
  for (const [shape, stream] of [
    ['default', true],
    ['default', false],
    ['strict', true],
    ['strict', false],
  ] as const) {
    const before = () => {
      throw new Error('broken')
    }
    const failing = new TestService(new ScriptedEngine({ before }))
    const asked = await failing.ask(shape, undefined, undefined, stream)
    const good = await lengthOf(await new TestService().ask(shape))
    // Ticks that a late clock owes share a chunk, not a frame: the lengths match to the byte.
    expect(await lengthOf(asked)).toBe(good)
    expect(failing.booked).toMatchObject([{ outcome: 'failed' }])
  }
})

test('a strict stream begins before the engine answers, and is booked if it is aborted then', async () => {
  const held = Promise.withResolvers<void>()
  const worker = new TestService(new ScriptedEngine({ before: () => held.promise }))
  const client = new AbortController()
  const asked = await worker.ask('strict', client.signal)
  const reader = asked.body.getReader()
  for (let read = 0; read < 3; read++) {
    const { value } = await reader.read()
    expect(await asked.opener.push(value as Bytes)).toEqual([]) // padding, and no head yet
  }
  client.abort()
  held.resolve()
  await until(() => worker.booked.length > 0)
  expect(worker.booked).toMatchObject([{ outcome: 'aborted' }])
})

/** Whether the difference in bytes corresponds to extra units up to a longer step of the short shape. */
function isLonger(bytes: number): boolean {
  const { unitBytes, leastUnits, growth } = short('default').stream!
  const unit = unitBytes + 21 // a frame's length and tag
  const steps = [0, 1, 2, 3, 4, 5].map((power) => (growth ** power - 1) * leastUnits * unit)
  return steps.includes(bytes)
}

test('a slow unstreamed answer looks like a stream, and its reader does not wait for the padding', async () => {
  const { resolve, promise: ready } = Promise.withResolvers<void>()
  const deltas = [{ content: 'all of it' }]
  const worker = new TestService(new ScriptedEngine({ deltas, before: () => ready }))
  const asked = await worker.ask('default', undefined, undefined, false) // answered while it is not ready
  resolve()
  const [read, counted] = asked.body.tee()
  expect(await readUntil({ ...asked, body: read }, 'whole')).toContain('all of it')
  const stream = await lengthOf(await new TestService().ask('default'))
  // On a busy machine it is a longer one, at most.
  expect(isLonger((await lengthOf({ ...asked, body: counted })) - stream)).toBe(true)
})

test('an unstreamed answer that is ready immediately is one frame', async () => {
  const worker = new TestService()
  const shapeOf = (name: TrafficShape) => {
    const { stream, whole } = short(name)
    return { stream, whole: whole && { ...whole, streamAfterMs: 600_000 } }
  }
  Object.assign(worker.service, { shapeOf })
  const asked = await worker.ask('default', undefined, undefined, false)
  expect(await lengthOf(asked)).toBeLessThan(9 * 1024)
})

test('a strict answer that is not streamed looks like a stream, and is there with its end', async () => {
  const asked = await new TestService().ask('strict', undefined, undefined, false)
  const [read, counted] = asked.body.tee()
  expect(await readUntil({ ...asked, body: read }, 'end')).toContain('all of it')
  const stream = await lengthOf(await new TestService().ask('strict'))
  expect(await lengthOf({ ...asked, body: counted })).toBe(stream)
})

test('the lengths of answers follow the pace of those before them', async () => {
  const worker = new TestService()
  const shapeOf = (name: TrafficShape) => {
    const { stream, whole } = short(name)
    return { stream: stream && { ...stream, leastTokens: 30 }, whole }
  }
  Object.assign(worker.service, { shapeOf })
  const before = await lengthOf(await worker.ask('default'))
  // 30 tokens of 20 ms are 120 ticks of 5 ms, but are rounded up to 128.
  for (let count = 0; count < 9; count++) worker.service.pace.note(chatModel.id, 100, 2_000)
  const after = await lengthOf(await worker.ask('default'))
  const { unitBytes } = short('default').stream!
  expect(after - before).toBe((128 - 60) * (unitBytes + 21))
})

test('a long body is parsed in small parts, and its memory is freed with the end of its answer', async () => {
  const worker = new TestService()
  const parse = JSON.parse
  let mostLetters = 0
  JSON.parse = (text: string) => {
    mostLetters = Math.max(mostLetters, text.length)
    return parse(text)
  }
  try {
    const text = '\n"'.repeat(500_000)
    const asked = await worker.ask('off', undefined, undefined, true, text)
    expect(await readUntil(asked, 'end')).toContain('all of it')
    expect(asked.sealed.length).toBe(0)
  } finally {
    JSON.parse = parse
  }
  // `parse-in-turns.test.ts` covers that others get a turn after each part.
  expect(mostLetters).toBeGreaterThan(0)
  expect(mostLetters).toBeLessThan(200_000)
})
