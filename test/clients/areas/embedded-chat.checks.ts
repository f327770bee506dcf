/** Checks of chat that only a real model can show, on the embedded engine. */
import { expect, test } from 'bun:test'
import { chatPath, saltOf, throughBoth } from '../client-stack.ts'
import { type EmbeddedStack, story, storyContext, storyModel } from '../embedded-stack.ts'
import type { Asked } from '../entrance.ts'

const cat = 'Tell me a story about a little cat.'
const longPrompt = 'Once upon a time there was a little girl. She had a red ball. '.repeat(6)

export function embeddedChatChecks(place: EmbeddedStack): void {
  throughBoth('embedded chat', place, (entrance) => {
    const ask = (fields: object = {}, content = cat) =>
      entrance.ask(chatPath, story(content, fields))
    const said = ({ json }: Asked): string => json.choices[0].message.content
    const joined = ({ events }: Asked): string =>
      events.map(({ data }) => data.choices?.[0]?.delta.content ?? '').join('')

    test('check 35: a stream says what the whole answer says, with one finish reason', async () => {
      const whole = await ask()
      const options = { stream: true, stream_options: { include_usage: true } }
      const streamed = await ask(options)
      expect(joined(streamed)).toBe(said(whole))
      expect(streamed.events.at(-2)?.data.usage.total_tokens).toBe(whole.json.usage.total_tokens)
      const finishes = streamed.events.map(({ data }) => data.choices?.[0]?.finish_reason)
      expect(finishes.filter((finish) => finish)).toEqual(['length'])
    })

    test('check 40: a token limit beyond the context is cut to what fits', async () => {
      const { status, json } = await ask({ max_tokens: 32_000, ignore_eos: true })
      expect([status, json.usage.total_tokens]).toEqual([200, storyContext])
    })

    test('check 41: a prompt that is too long is 400 context_length_exceeded', async () => {
      const { status, json } = await ask({}, 'word '.repeat(400))
      expect([status, json.error.code]).toEqual([400, 'context_length_exceeded'])
      expect(json.error.message).toContain(`maximum context length is ${storyContext} tokens`)
    })

    test('check 44: a required tool is called with arguments of its schema', async () => {
      const parameters = {
        type: 'object',
        properties: { animal: { type: 'string', enum: ['cat', 'dog'] } },
        required: ['animal'],
        additionalProperties: false,
      }
      const tools = [{ type: 'function', function: { name: 'pick', parameters } }]
      const fields = { tools, tool_choice: 'required', parallel_tool_calls: false, max_tokens: 60 }
      const { json } = await ask(fields)
      expect(json.choices[0].finish_reason).toBe('tool_calls')
      const [call] = json.choices[0].message.tool_calls
      expect([call.type, call.function.name]).toEqual(['function', 'pick'])
      expect(['cat', 'dog']).toContain(JSON.parse(call.function.arguments).animal)
      const { events } = await ask({ ...fields, stream: true })
      const deltas = events.flatMap(({ data }) => data.choices?.[0]?.delta.tool_calls ?? [])
      expect(deltas[0]).toMatchObject({ index: 0, id: expect.any(String) })
      const text = deltas.map((delta) => delta.function.arguments ?? '').join('')
      expect(JSON.parse(text)).toEqual(JSON.parse(call.function.arguments))
    })

    test('check 49: json_object and json_schema hold for any model', async () => {
      const schema = {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 8 },
          age: { type: 'integer', minimum: 1, maximum: 9 },
        },
        required: ['name', 'age'],
        additionalProperties: false,
      }
      const json_schema = { name: 'cat', strict: true, schema }
      const format = { response_format: { type: 'json_schema', json_schema }, max_tokens: 80 }
      const strict = JSON.parse(said(await ask(format)))
      expect(Object.keys(strict)).toEqual(['name', 'age'])
      expect(Number.isInteger(strict.age) && strict.age >= 1 && strict.age <= 9).toBe(true)
      const streamed = joined(await ask({ ...format, stream: true }))
      expect(JSON.parse(streamed)).toEqual(strict)
      const any = { response_format: { type: 'json_object' }, max_tokens: 200, stop: [] }
      const free = await ask(any, 'Write JSON.')
      const isCut = free.json.choices[0].finish_reason === 'length'
      if (!isCut) expect(JSON.parse(said(free))).toBeObject()
      expect(said(free).trimStart()).toStartWith('{')
    })

    test('check 52: n gives n choices of their own', async () => {
      const { json } = await ask({ n: 2, temperature: 1.2, seed: 5 })
      const texts = json.choices.map((choice: { message: { content: string } }) => choice.message)
      expect(new Set(texts.map(({ content }: { content: string }) => content)).size).toBe(2)
      expect((await ask({ n: 100 })).status).toBe(400)
    })

    test('check 53: a stop string ends the text before itself and is reported', async () => {
      const whole = said(await ask({ max_tokens: 30 }))
      const stop = whole.slice(10, 14)
      const answer = await ask({ max_tokens: 30, stop: ['never said', stop] })
      expect(said(answer)).toBe(whole.slice(0, whole.indexOf(stop)))
      expect(answer.json.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: stop })
      expect(joined(await ask({ max_tokens: 30, stop, stream: true }))).toBe(said(answer))
    })

    test('check 54: the same seed repeats, another differs, temperature 0 repeats', async () => {
      const told = async (seed: number) => said(await ask({ temperature: 1, seed, max_tokens: 24 }))
      const [one, again, other] = [await told(1), await told(1), await told(2)]
      expect(again).toBe(one)
      expect(other).not.toBe(one)
      expect(said(await ask({ seed: 7 }))).toBe(said(await ask({ seed: 7 })))
    })

    test('check 55: logprobs have token, logprob, bytes and so many top entries', async () => {
      const { json } = await ask({ logprobs: true, top_logprobs: 5 })
      const { content } = json.choices[0].logprobs
      expect(content).toHaveLength(12)
      for (const { token, logprob, bytes, top_logprobs } of content) {
        expect(new TextDecoder().decode(Uint8Array.from(bytes))).toBe(token)
        expect(logprob).toBeLessThanOrEqual(0)
        expect(top_logprobs).toHaveLength(5)
        expect(top_logprobs[0]).toMatchObject({ token, logprob })
      }
    })

    test('check 56: logit_bias keeps a token out; an id beyond the vocabulary is 400', async () => {
      const biased = async (logit_bias: Record<number, number>) =>
        said(await ask({ max_tokens: 1, logit_bias }))
      const [one, other] = [await biased({ 1000: 100 }), await biased({ 2000: 100 })]
      expect(one).not.toBe(other)
      expect(await biased({ 1000: 100, 2000: -100 })).toBe(one)
      expect(await biased({ 1000: -100, 2000: 100 })).toBe(other)
      expect([one, other]).toContain(await biased({ 1000: 100, 2000: 100 }))
      const { status, json } = await ask({ logit_bias: { 99999999: 1 } })
      expect([status, json.error.param]).toEqual([400, 'logit_bias'])
    })

    test('check 58: cached tokens are reported for the same salt, none for another', async () => {
      const mine = saltOf(entrance.name === 'proxy' ? 'e' : 'f')
      const cached = async (cache_salt: string) => {
        const { json } = await ask({ cache_salt, max_tokens: 2 }, longPrompt)
        return json.usage.prompt_tokens_details.cached_tokens
      }
      expect(await cached(mine)).toBe(0)
      expect(await cached(mine)).toBeGreaterThan(60)
      expect(await cached(`${mine}x`)).toBe(0)
    })

    test('check 59: requests without a salt share nothing through a proxy', async () => {
      await ask({ max_tokens: 2 }, longPrompt)
      const { json } = await ask({ max_tokens: 2 }, longPrompt)
      const { cached_tokens } = json.usage.prompt_tokens_details
      // The proxyless endpoint has one salt for each key, so there the second request does share.
      expect(cached_tokens > 0).toBe(entrance.name !== 'proxy')
    })

    test('check 60: characters split between tokens never show as U+FFFD', async () => {
      const text = '🙂漢é🏴󠁧󠁢󠁳󠁣󠁴󠁿'
      const schema = { type: 'string', enum: [text] }
      const response_format = { type: 'json_schema', json_schema: { name: 's', schema } }
      const streamed = await ask({ response_format, max_tokens: 80, stream: true })
      expect(JSON.parse(joined(streamed))).toBe(text)
      expect(streamed.text).not.toContain('\ufffd')
      const pieces = streamed.events.map(({ data }) => data.choices?.[0]?.delta.content ?? '')
      expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(2)
    })

    test('check 61: prompt_logprobs tell how likely the prompt is', async () => {
      const { json } = await ask({ prompt_logprobs: 1 })
      expect(json.prompt_logprobs).toHaveLength(json.usage.prompt_tokens)
      expect(json.prompt_logprobs[0]).toBeNull()
      expect(json.model).toBe(storyModel)
    })
  })
}
