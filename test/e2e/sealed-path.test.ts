import { afterAll, describe, expect, test } from 'bun:test'
import { vendorRoots } from '@privatemode/attestation'
import { answerOf, privateFetch } from '@privatemode/sdk'
import OpenAI from 'openai'
import { ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'
import { shortShapes, shortUnits } from '../shape/short-shapes.ts'
import { startSystem } from './system.ts'

const story = ['Once ', 'upon ', 'a time'].map((content) => ({ content }))
const system = await startSystem({
  engines: [new ScriptedEngine({ deltas: story })],
  shapeOf: shortShapes,
})
afterAll(() => system.stop(), 90_000)

const body = (over: object = {}) =>
  new TextEncoder().encode(
    JSON.stringify({
      model: 'org/chat-1',
      messages: [{ role: 'user', content: 'hello' }],
      ...over,
    }),
  )

const call = (over: object = {}) => ({
  path: '/v1/chat/completions',
  model: 'org/chat-1',
  body: body(),
  stream: false,
  apiKey: system.apiKey,
  ...over,
})

describe('a sealed call', () => {
  test('gets a complete answer with a signed receipt', async () => {
    const answer = await system.client().exchange(call())
    const json = JSON.parse(new TextDecoder().decode(await answer.whole()))
    expect(answer.head.status).toBe(200)
    expect(json.object).toBe('chat.completion')
    const receipt = JSON.parse(new TextDecoder().decode(answer.receipt))
    const record = JSON.parse(Buffer.from(receipt.record, 'base64').toString())
    expect(record).toMatchObject({ request_id: answer.requestId, outcome: 'complete', status: 200 })
  })

  test('of a megabyte is answered like a short one', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(200_000) }]
    const answer = await system.client().exchange(call({ body: body({ messages }) }))
    const json = JSON.parse(new TextDecoder().decode(await answer.whole()))
    expect(answer.head.status).toBe(200)
    expect(json.object).toBe('chat.completion')
  })

  test('is answered as a stream with traffic shape strict, whose end comes late', async () => {
    const client = system.client({ shape: 'strict' })
    const answer = await client.exchange(call({ stream: true, body: body({ stream: true }) }))
    const decode = (pieces: readonly Uint8Array[] = []) =>
      pieces.map((piece) => new TextDecoder().decode(piece)).join('')
    let text = ''
    let last = decode(await answer.next())
    for (; !last.includes('finish_reason":"stop"'); last = decode(await answer.next())) {
      expect(answer.receipt).toBeUndefined() // the text comes while there is padding to come
      text += last
    }
    expect(text).toContain('a time')
    expect(last).toEndWith('data: [DONE]\n\n')
    expect(answer.receipt).toBeDefined()
    expect(await answer.next()).toBeUndefined()
  }, 240_000)

  test('is answered whole with traffic shape strict, at a moment that many share', async () => {
    const startMs = performance.now()
    const answer = await system.client({ shape: 'strict' }).exchange(call())
    const text = new TextDecoder().decode(await answer.whole())
    // It is sent on the clock of streams, and whole when the padding ends.
    const { tickMs = 0 } = shortShapes('strict').stream ?? {}
    expect(performance.now() - startMs).toBeGreaterThanOrEqual((shortUnits - 2) * tickMs)
    expect(JSON.parse(text).object).toBe('chat.completion')
  }, 240_000)

  test.each(['off', 'default'] as const)(
    'is answered as a stream with traffic shape %s',
    async (shape) => {
      const client = system.client({ shape })
      const answer = await client.exchange(call({ stream: true, body: body({ stream: true }) }))
      let text = ''
      for (let data = await answer.next(); data !== undefined; data = await answer.next()) {
        for (const piece of data) text += new TextDecoder().decode(piece)
      }
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
      await answer.settled()
      expect(answer.receipt).toBeDefined()
    },
    240_000,
  )

  test('serves the official OpenAI client', async () => {
    const client = system.client()
    const fetch = privateFetch({ client, apiKey: undefined, defaultSalt: undefined })
    const openai = new OpenAI({
      baseURL: `${client.endpoint}/v1`,
      apiKey: system.apiKey,
      fetch,
      maxRetries: 0,
    })
    const messages = [{ role: 'user' as const, content: 'hello' }]
    const whole = await openai.chat.completions.create({ model: 'org/chat-1', messages })
    expect(whole.choices.length).toBe(1)
    const stream = await openai.chat.completions.create({
      model: 'org/chat-1',
      messages,
      stream: true,
    })
    let chunks = 0
    for await (const chunk of stream) chunks += chunk.object === 'chat.completion.chunk' ? 1 : 0
    expect(chunks).toBeGreaterThan(1)
    const models = await openai.models.list()
    expect(models.data.map(({ id }) => id)).toContain('org/chat-1')
    const response = await fetch(`${client.endpoint}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.apiKey}` },
      body: body(),
    })
    await response.text()
    expect(await answerOf(response)?.receipt()).toMatchObject({ outcome: 'complete' })
  })
})

describe('the client refuses', () => {
  const codeOf = async (promise: Promise<unknown>) =>
    await promise.then(
      () => 'accepted',
      (error) => error.code as string,
    )

  test('an unknown model and a wrong key', async () => {
    const unknown = call({ model: 'nope', body: body({ model: 'nope' }) })
    expect(await codeOf(system.client().exchange(unknown))).toBe('model_not_found')
    expect(await codeOf(system.client().exchange(call({ apiKey: 'pm_wrong' })))).toBe(
      'invalid_api_key',
    )
  })

  test('software evidence without the verifier that is passed in explicitly', async () => {
    const without = system.client({ software: undefined as never })
    expect(await codeOf(without.exchange(call()))).toBe('attestation_refused')
  })

  test('software evidence under a root that was not given', async () => {
    const client = system.client({ roots: vendorRoots })
    expect(await codeOf(client.exchange(call()))).toBe('attestation_refused')
  })
})

test('a measurement that the manifest does not list is refused, and a retry is not offered', async () => {
  const other = await startSystem({ measurement: 'ab'.repeat(48) })
  try {
    const failure = await other
      .client()
      .exchange(call({ apiKey: other.apiKey }))
      .catch((error) => error)
    expect(failure).toMatchObject({ code: 'attestation_refused', retryable: false })
    expect(failure.message).toContain('measurement')
  } finally {
    await other.stop()
  }
}, 240_000)

test('a worker that is gone is replaced by another one that was verified', async () => {
  const second = await system.addWorker()
  const client = system.client()
  await client.ready(system.apiKey)
  await second.stop()
  for (let i = 0; i < 4; i++) {
    const answer = await client.exchange(call())
    expect(answer.head.status).toBe(200)
  }
})
