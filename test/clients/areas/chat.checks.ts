/** Checks 34 to 43: the form of chat completions, their streams, limits, roles and contents. */
import { expect, test } from 'bun:test'
import { type ClientStack, chat, chatPath, model, throughBoth } from '../client-stack.ts'

const contextLength = 8192

export function chatChecks(place: ClientStack): void {
  throughBoth('chat', place, (entrance) => {
    test('check 34: the body has every field, with refusal and logprobs null', async () => {
      const { status, json } = await entrance.ask(chatPath, chat('hello'))
      expect(status).toBe(200)
      expect(json).toEqual({
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion',
        created: expect.any(Number),
        model,
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: 'You said: hello',
              refusal: null,
              reasoning: null,
              tool_calls: [],
            },
            logprobs: null,
            finish_reason: 'stop',
            stop_reason: null,
          },
        ],
        usage: {
          prompt_tokens: 2,
          completion_tokens: 3,
          total_tokens: 5,
          prompt_tokens_details: { cached_tokens: 0 },
        },
        prompt_logprobs: null,
      })
    })

    test('check 35: a stream has one id, the role first, one finish reason, then [DONE]', async () => {
      const { events } = await entrance.ask(chatPath, chat('one two', { stream: true }))
      expect(events.at(-1)?.data).toBe('[DONE]')
      const chunks = events.slice(0, -1).map(({ data }) => data)
      for (const field of ['id', 'object', 'created', 'model']) {
        expect(new Set(chunks.map((chunk) => chunk[field])).size).toBe(1)
      }
      expect(chunks[0].object).toBe('chat.completion.chunk')
      expect(chunks.map(({ choices }) => choices[0].delta.role)).toEqual([
        'assistant',
        ...chunks.slice(1).map(() => undefined),
      ])
      const finishes = chunks.map(({ choices }) => choices[0].finish_reason).filter((f) => f)
      expect(finishes).toEqual(['stop'])
      const text = chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')
      expect(text).toBe('You said: one two')
    })

    test('check 36: include_usage gives one last chunk with usage and no choices', async () => {
      const body = chat('one two', { stream: true, stream_options: { include_usage: true } })
      const { events } = await entrance.ask(chatPath, body)
      const [last, done] = events.slice(-2)
      expect(done?.data).toBe('[DONE]')
      expect(last?.data).toMatchObject({
        choices: [],
        usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      })
      for (const { data } of events.slice(0, -2)) {
        expect(data.choices).toHaveLength(1)
        expect(data.usage).toBeNull()
      }
    })

    test('check 37: without it no usage reaches the client, though the server is asked for it', async () => {
      const words = `count ${crypto.randomUUID()}`
      const { events, text } = await entrance.ask(chatPath, chat(words, { stream: true }))
      expect(text).not.toContain('usage')
      for (const { data } of events.slice(0, -1)) expect(data.choices).toHaveLength(1)
      expect(place.seen(words)?.body.stream_options).toMatchObject({ include_usage: true })
    })

    test('check 38: stream_options without a stream are 400', async () => {
      const body = chat('hi', { stream_options: { include_usage: true } })
      const { status, json } = await entrance.ask(chatPath, body)
      expect([status, json.error.param]).toEqual([400, 'stream_options'])
    })

    test('check 39: both token limits bound the output', async () => {
      for (const name of ['max_tokens', 'max_completion_tokens']) {
        const { json } = await entrance.ask(chatPath, chat('[[words 50]]', { [name]: 5 }))
        expect(json.choices[0].finish_reason).toBe('length')
        expect(json.usage.completion_tokens).toBe(5)
        expect(json.choices[0].message.content).toBe('word0 word1 word2 word3 word4')
      }
    })

    test('check 40: a token limit beyond the context does not fail a prompt that fits', async () => {
      for (const stream of [false, true]) {
        const body = chat('fits', { max_tokens: 10 * contextLength, stream })
        const { status, text } = await entrance.ask(chatPath, body)
        expect(status).toBe(200)
        expect(text).toContain('fits')
      }
    })

    test('check 41: a prompt that is too long is 400 context_length_exceeded', async () => {
      for (const stream of [false, true]) {
        const body = chat('long '.repeat(contextLength + 1), { stream })
        const { status, json } = await entrance.ask(chatPath, body)
        expect([status, json.error.code]).toEqual([400, 'context_length_exceeded'])
        expect(json.error.message).toContain(`maximum context length is ${contextLength} tokens`)
      }
    })

    test('check 42: all roles are accepted, developer as system', async () => {
      const mark = crypto.randomUUID()
      const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
      const messages = [
        { role: 'system', content: `be brief ${mark}` },
        { role: 'developer', content: 'be kind' },
        { role: 'user', content: 'call f' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'done' },
        { role: 'user', content: 'and?' },
      ]
      expect((await entrance.ask(chatPath, { model, messages })).status).toBe(200)
      const seen = place.seen(mark)?.body.messages as { role: string; content: unknown }[]
      expect(seen.map(({ role }) => role)).not.toContain('developer')
      expect(JSON.stringify(seen)).toContain('be kind')
      const wrong = [{ role: 'narrator', content: 'x' }]
      const { status, json } = await entrance.ask(chatPath, { model, messages: wrong })
      expect([status, json.error.param]).toEqual([400, 'messages.0.role'])
    })

    test('check 43: content may be text, parts, null or empty next to tool calls', async () => {
      const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
      const result = { role: 'tool', tool_call_id: 'c1', content: 'r' }
      const user = (content: unknown) => ({ role: 'user', content })
      const assistant = (content: unknown) => ({ role: 'assistant', content, tool_calls: [call] })
      for (const messages of [
        [user('plain')],
        [user([{ type: 'text', text: 'one' }])],
        [user('x'), assistant(null), result],
        [user('x'), assistant(''), result],
        [user('x'), assistant([{ type: 'text', text: 't' }]), result],
      ]) {
        expect((await entrance.ask(chatPath, { model, messages })).status).toBe(200)
      }
    })
  })
}
