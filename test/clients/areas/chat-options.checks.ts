/** Checks 49 to 61: what a chat can be asked for, as far as no real model is needed. */
import { expect, test } from 'bun:test'
import { serverSalt } from '../../../packages/inference/src/servers/server-salt.ts'
import {
  type ClientStack,
  chat,
  chatPath,
  freshWords,
  model,
  saltOf,
  throughBoth,
} from '../client-stack.ts'

const schema = { type: 'object', properties: { answer: { type: 'string' } } }

export function chatOptionChecks(place: ClientStack): void {
  throughBoth('chat options', place, (entrance) => {
    const refused = async (fields: object): Promise<unknown> => {
      const { status, json } = await entrance.ask(chatPath, chat('hi', fields))
      return status === 400 ? json.error.param : status
    }

    test('check 49: response_format reaches the server; an unknown type is 400, with its name', async () => {
      for (const response_format of [
        { type: 'json_object' },
        { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } },
      ]) {
        const { json } = await entrance.ask(chatPath, chat('in JSON', { response_format }))
        expect(JSON.parse(json.choices[0].message.content)).toHaveProperty('answer')
      }
      expect(await refused({ response_format: { type: 'xml' } })).toStartWith('response_format')
      const nameless = { type: 'json_schema', json_schema: {} }
      expect(await refused({ response_format: nameless })).toStartWith('response_format')
    })

    test('check 50: reasoning goes out and comes back under both names, never inside content', async () => {
      const { json } = await entrance.ask(chatPath, chat('[[reason]] hello'))
      expect(json.choices[0].message).toMatchObject({
        content: 'You said: hello',
        reasoning: 'I think about it.',
        reasoning_content: 'I think about it.',
      })
      const { events } = await entrance.ask(chatPath, chat('[[reason]] hello', { stream: true }))
      const joined = (name: string) =>
        events.map(({ data }) => data.choices?.[0]?.delta[name] ?? '').join('')
      expect(joined('reasoning')).toBe('I think about it.')
      expect(joined('reasoning_content')).toBe('I think about it.')
      expect(joined('content')).toBe('You said: hello')
      for (const name of ['reasoning', 'reasoning_content']) {
        const mark = freshWords(2)
        const messages = [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b', [name]: mark },
          { role: 'user', content: 'c' },
        ]
        expect((await entrance.ask(chatPath, { model, messages })).status).toBe(200)
        const seen = place.seen(mark)?.body.messages as object[]
        expect(seen[1]).toMatchObject({ reasoning: mark, reasoning_content: mark })
      }
    })

    test('check 51: reasoning_effort is accepted and reaches the server', async () => {
      for (const reasoning_effort of ['none', 'low', 'high']) {
        const words = freshWords(2)
        expect((await entrance.ask(chatPath, chat(words, { reasoning_effort }))).status).toBe(200)
        expect(place.seen(words)?.body.reasoning_effort).toBe(reasoning_effort)
      }
    })

    test('check 52: n gives n choices, also in a stream; too many are 400', async () => {
      const { json } = await entrance.ask(chatPath, chat('hi', { n: 2 }))
      expect(json.choices.map(({ index }: { index: number }) => index)).toEqual([0, 1])
      const { events } = await entrance.ask(chatPath, chat('hi', { n: 2, stream: true }))
      const chunks = events.slice(0, -1).map(({ data }) => data.choices[0])
      for (const index of [0, 1]) {
        const own = chunks.filter((choice) => choice.index === index)
        expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('You said: hi')
        expect(own[0].delta.role).toBe('assistant')
        expect(own.filter(({ finish_reason }) => finish_reason !== null)).toHaveLength(1)
      }
      expect(await refused({ n: 129 })).toBe('n')
      expect(await refused({ n: 0 })).toBe('n')
    })

    test('check 53: a stop string ends the text before it and is reported', async () => {
      for (const stop of ['word3', ['nothing', 'word3', 'word4', 'word5']]) {
        const { json } = await entrance.ask(chatPath, chat('[[words 9]]', { stop }))
        expect(json.choices[0]).toMatchObject({
          finish_reason: 'stop',
          stop_reason: 'word3',
          message: { content: 'word0 word1 word2' },
        })
      }
      expect(await refused({ stop: ['a', 'b', 'c', 'd', 'e'] })).toBe('stop')
    })

    test('check 55: the ranges of logprobs are checked', async () => {
      expect(await refused({ top_logprobs: 5 })).toBe('top_logprobs')
      expect(await refused({ logprobs: true, top_logprobs: 21 })).toBe('top_logprobs')
      expect(await refused({ logprobs: true, top_logprobs: -1 })).toBe('top_logprobs')
      expect(await refused({ logprobs: true, top_logprobs: 20 })).toBe(200)
    })

    test('check 56: the ranges of logit_bias are checked', async () => {
      expect(await refused({ logit_bias: { '1': -101 } })).toStartWith('logit_bias')
      expect(await refused({ logit_bias: { word: 1 } })).toStartWith('logit_bias')
      expect(await refused({ logit_bias: { '1': -100 } })).toBe(200)
    })

    test('check 57: parameters out of range are 400, with the name of the parameter', async () => {
      const wrong: [string, unknown][] = [
        ['temperature', 2.1],
        ['temperature', -0.1],
        ['temperature', 'hot'],
        ['top_p', 0],
        ['top_p', 1.1],
        ['frequency_penalty', 2.1],
        ['presence_penalty', -2.1],
        ['max_tokens', 0],
        ['max_completion_tokens', 0],
        ['max_tokens', 1.5],
        ['seed', 'x'],
        ['stream', 'yes'],
      ]
      for (const [name, value] of wrong) {
        expect([name, value, await refused({ [name]: value })]).toEqual([name, value, name])
      }
      const right = {
        temperature: 2,
        top_p: 1,
        frequency_penalty: -2,
        presence_penalty: 2,
        seed: 0,
      }
      expect(await refused(right)).toBe(200)
    })

    test('check 58: cached tokens are reported for the same salt, none for another', async () => {
      const words = freshWords(100)
      const cached = async (cache_salt: string) => {
        const { json } = await entrance.ask(chatPath, chat(words, { cache_salt }))
        return json.usage.prompt_tokens_details.cached_tokens
      }
      expect(await cached(saltOf('a'))).toBe(0)
      expect(await cached(saltOf('a'))).toBeGreaterThan(64)
      expect(await cached(saltOf('b'))).toBe(0)
    })

    test('check 59: salts are checked, the request wins, and what has none does not share', async () => {
      for (const cache_salt of ['', 'x'.repeat(31), 7]) {
        expect(await refused({ cache_salt })).toBe('cache_salt')
      }
      const words = freshWords(100)
      const saltSent = async (fields: object) => {
        const answer = await entrance.ask(chatPath, chat(words, fields))
        expect(answer.status).toBe(200)
        return place.seen(words)?.body.cache_salt as string
      }
      expect(await saltSent({ cache_salt: saltOf('w') })).toBe(serverSalt(saltOf('w')))
      const own = [await saltSent({}), await saltSent({})]
      for (const salt of own) expect(salt).toMatch(/^[0-9a-f]{64}$/)
      // A proxy shares nothing by default; the proxyless endpoint shares within one key.
      expect(new Set(own).size).toBe(entrance.name === 'proxy' ? 2 : 1)
    })

    test('check 60: characters of every width arrive whole in a stream', async () => {
      const said = '👩‍👩‍👧 漢字 é̂ 🏴󠁧󠁢󠁳󠁣󠁴󠁿 नमस्ते ﷽'
      const { events } = await entrance.ask(chatPath, chat(said, { stream: true }))
      const text = events.map(({ data }) => data.choices?.[0]?.delta.content ?? '').join('')
      expect(text).toBe(`You said: ${said}`)
    })

    test('check 61: prompt_logprobs pass; in a stream they are 400', async () => {
      const words = freshWords(2)
      await entrance.ask(chatPath, chat(words, { prompt_logprobs: 1 }))
      expect(place.seen(words)?.body.prompt_logprobs).toBe(1)
      expect(await refused({ prompt_logprobs: 1, stream: true })).toBe('prompt_logprobs')
    })
  })
}
