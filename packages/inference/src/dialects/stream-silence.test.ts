/** A stream is never silent for long, and reports late errors properly. */
import { describe, expect, test } from 'bun:test'
import { EngineError } from '../engine.ts'
import { ask, type Heard } from '../testing/ask.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const chatPath = '/v1/chat/completions'
const chat = { model: chatModel.id, messages: [{ role: 'user', content: 'hi' }] }

describe('silence', () => {
  const times = { keepAliveMs: 20, commitMs: 5 }
  const body = { ...chat, stream: true, max_tokens: 5, input: 'hi' }

  test('check 18: a long prefill is bridged by comments, or by pings for messages', async () => {
    const comments = silence(/^: keep-alive\n\n/gm)
    const slow = new ScriptedEngine({ deltas: [{ content: 'a' }], before: () => comments.until(2) })
    const openAi = await ask(slow, chatPath, body, { times, heard: comments.heard })
    expect(openAi.text).toStartWith(': keep-alive\n\n: keep-alive\n\n')
    expect(openAi.events.at(-1)?.data).toBe('[DONE]')
    const pings = silence(/^event: ping$/gm)
    const other = new ScriptedEngine({ deltas: [{ content: 'a' }], before: () => pings.until(2) })
    const anthropic = await ask(other, '/v1/messages', body, { times, heard: pings.heard })
    const names = anthropic.events.map(({ event }) => event)
    expect(names.slice(0, 2)).toEqual(['ping', 'ping'])
    expect(names.at(-1)).toBe('message_stop')
  })

  test('check 18: the first byte does not wait for a whole period of silence', async () => {
    const { heard, until } = silence(/^: keep-alive\n\n/gm)
    const engine = new ScriptedEngine({ deltas: [{ content: 'a' }], before: () => until(1) })
    const slow = { keepAliveMs: 60_000, commitMs: 5 }
    const { text } = await ask(engine, chatPath, body, { times: slow, heard })
    expect(text).toStartWith(': keep-alive\n\n')
  })

  test('check 18: silence in the middle of a stream is bridged and nothing gets lost', async () => {
    const { heard, until } = silence(/^: keep-alive\n\n/gm)
    const engine = new ScriptedEngine({
      deltas: [{ content: 'a' }, { content: 'b' }, { content: 'c' }],
      beforeChunk: (index) => until(index + 1),
    })
    const { text, events } = await ask(engine, chatPath, body, { times, heard })
    expect(text).toMatch(/"a".*: keep-alive.*"b".*: keep-alive.*"c"/s)
    const content = events.slice(0, -1).map(({ data }) => data.choices[0].delta.content)
    expect(content.join('')).toBe('abc')
  })

  test('a refusal before the status is sent becomes a status, a later one an event', async () => {
    const refuse = (wait: () => Promise<void>) =>
      new ScriptedEngine({
        before: async () => {
          await wait()
          throw new EngineError('context_length_exceeded', 'too long', { promptTokens: 2000 })
        },
      })
    const patient = { keepAliveMs: 20, commitMs: 60_000 }
    const early = await ask(
      refuse(() => Bun.sleep(1)),
      chatPath,
      body,
      { times: patient },
    )
    expect(early.status).toBe(400)
    const { heard, until } = silence(/^event: ping$/gm)
    const late = await ask(
      refuse(() => until(1)),
      '/v1/messages',
      body,
      { times, heard },
    )
    expect(late.status).toBe(200)
    expect(late.events.at(-1)).toMatchObject({
      event: 'error',
      data: { error: { message: 'prompt is too long: 2000 tokens > 1000 maximum' } },
    })
  })
})

/** An engine that stays silent until the caller has received `sign` this often; fails after ten seconds. */
function silence(sign: RegExp): { heard: Heard; until(times: number): Promise<void> } {
  let count = 0
  return {
    heard: (text) => {
      count = text.match(sign)?.length ?? 0
    },
    async until(times) {
      for (const end = Date.now() + 10_000; count < times && Date.now() < end; ) await Bun.sleep(1)
    },
  }
}
