/** Checks of completions, embeddings and messages that only a real model can show, on the embedded engine. */
import { expect, test } from 'bun:test'
import { messagesPath, saltOf, throughBoth } from '../client-stack.ts'
import { type EmbeddedStack, storyContext, storyModel, vectorModel } from '../embedded-stack.ts'

const longPrompt = 'Once upon a time there was a little girl. She had a red ball. '.repeat(6)

export function embeddedOtherChecks(place: EmbeddedStack): void {
  throughBoth('embedded completions', place, (entrance) => {
    const ask = (prompt: unknown, fields: object = {}) =>
      entrance.ask('/v1/completions', { model: storyModel, prompt, temperature: 0, ...fields })

    test('check 64: prompts of all forms are answered in their order, and echo works', async () => {
      const texts = await ask(['Once upon', 'The little cat'], { max_tokens: 4, n: 2 })
      const indices = texts.json.choices.map(({ index }: { index: number }) => index)
      expect(indices).toEqual([0, 1, 2, 3])
      const [one, , other] = texts.json.choices
      expect(one.text).toBe((await ask('Once upon', { max_tokens: 4 })).json.choices[0].text)
      expect(other.text).toBe((await ask('The little cat', { max_tokens: 4 })).json.choices[0].text)
      expect((await ask([1, 9038, 2501], { max_tokens: 2 })).status).toBe(200)
      expect((await ask([[1, 9038], [1]], { max_tokens: 2 })).json.choices).toHaveLength(2)
      const echoed = await ask('Once upon', { max_tokens: 2, echo: true })
      expect(echoed.json.choices[0].text).toStartWith('Once upon')
    })

    test('check 65: 16 tokens by default, and logprobs in their legacy form', async () => {
      const { json } = await ask('Once upon a time', { logprobs: 2 })
      expect(json.usage.completion_tokens).toBe(16)
      const { tokens, token_logprobs, top_logprobs, text_offset } = json.choices[0].logprobs
      for (const list of [tokens, token_logprobs, top_logprobs, text_offset]) {
        expect(list).toHaveLength(16)
      }
      expect(tokens.join('')).toBe(json.choices[0].text)
    })

    test('check 67: a stream says what the whole answer says', async () => {
      const whole = await ask('Once upon a time')
      const { events } = await ask('Once upon a time', { stream: true })
      const text = events.map(({ data }) => data.choices?.[0]?.text ?? '').join('')
      expect(text).toBe(whole.json.choices[0].text)
      expect(events.at(-1)?.data).toBe('[DONE]')
    })
  })

  throughBoth('embedded embeddings', place, (entrance) => {
    const ask = (input: unknown, fields: object = {}) =>
      entrance.ask('/v1/embeddings', { model: vectorModel, input, ...fields })

    test("check 68: the official client's base64 call gives the same unit vector", async () => {
      const client = entrance.openai()
      const call = { model: vectorModel, input: 'The sea is calm.' }
      const plain = await client.embeddings.create(call)
      const floats = await client.embeddings.create({ ...call, encoding_format: 'float' })
      const [one, other] = [plain.data[0]!.embedding, floats.data[0]!.embedding]
      expect(one).toHaveLength(384)
      for (const [i, value] of one.entries()) expect(value).toBeCloseTo(other[i]!, 6)
      expect(Math.hypot(...one)).toBeCloseTo(1, 4)
    })

    test('check 69: many inputs keep their order', async () => {
      const inputs = ['The sea is calm.', 'Taxes are due in May.', 'The ocean is quiet.']
      const { json } = await ask(inputs)
      const [sea, taxes, ocean] = json.data.map((item: { embedding: number[] }) => item.embedding)
      expect(dot(sea, ocean)).toBeGreaterThan(dot(sea, taxes) + 0.2)
      const alone = await ask(inputs[1])
      expect(dot(taxes, alone.json.data[0].embedding)).toBeCloseTo(1, 3)
    })

    test('check 70: other dimensions of a fixed model are 400', async () => {
      expect((await ask('x', { dimensions: 384 })).status).toBe(200)
      const { status, json } = await ask('x', { dimensions: 100 })
      expect([status, json.error.param]).toEqual([400, 'dimensions'])
    })

    test('check 71: over-long input is 400, never cut; the counts are the prompt', async () => {
      expect((await ask('word '.repeat(2000))).status).toBe(400)
      const { usage } = (await ask(['The sea', 'The sea'])).json
      expect(usage.prompt_tokens).toBe(usage.total_tokens)
      expect(usage.prompt_tokens).toBe(2 * (await ask('The sea')).json.usage.prompt_tokens)
    })
  })

  throughBoth('embedded messages', place, (entrance) => {
    const messages = [{ role: 'user', content: 'Tell me a story about a little cat.' }]
    const body = { model: storyModel, messages, max_tokens: 8, temperature: 0 }

    test('check 73: the events of a real stream come in order', async () => {
      const { events } = await entrance.ask(messagesPath, { ...body, stream: true })
      const names = events.map(({ event }) => event).filter((name) => name !== 'ping')
      expect(names.slice(0, 2)).toEqual(['message_start', 'content_block_start'])
      expect(names.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop'])
      const whole = await entrance.ask(messagesPath, body)
      const text = events.map(({ data }) => data.delta?.text ?? '').join('')
      expect(whole.json.content).toEqual([{ type: 'text', text }])
      expect(whole.json.stop_reason).toBe('max_tokens')
    })

    test('check 80: overflow is reported in the wording that agents recover from', async () => {
      const long = [{ role: 'user', content: 'word '.repeat(400) }]
      const { status, json } = await entrance.ask(messagesPath, { ...body, messages: long })
      expect(status).toBe(400)
      const words = new RegExp(`^prompt is too long: \\d+ tokens > ${storyContext} maximum$`)
      expect(json.error.message).toMatch(words)
    })

    test('check 82: count_tokens equals the tokens that the message is then charged for', async () => {
      const tools = [{ name: 'f', description: 'does it', input_schema: { type: 'object' } }]
      for (const extra of [{}, { system: 'Be brief.' }, { tools }]) {
        const { max_tokens: _, ...counted } = { ...body, ...extra }
        const { json } = await entrance.ask('/v1/messages/count_tokens', counted)
        const { usage } = (await entrance.ask(messagesPath, { ...body, ...extra })).json
        expect(json).toEqual({ input_tokens: usage.input_tokens })
      }
    })

    test('check 83: two salts share no cache through messages either', async () => {
      const [mine, other] = entrance.name === 'proxy' ? ['g', 'h'] : ['i', 'j']
      const long = [{ role: 'user', content: longPrompt }]
      const send = (letter: string) =>
        entrance.ask(messagesPath, { ...body, messages: long, cache_salt: saltOf(letter) })
      const chat = async (letter: string) => {
        const asked = { ...body, messages: long, cache_salt: saltOf(letter) }
        const { json } = await entrance.ask('/v1/chat/completions', asked)
        return json.usage.prompt_tokens_details.cached_tokens
      }
      const first = await send(mine!)
      // Messages tell nothing of the cache; a chat with the same prompt does.
      expect(await chat(other!)).toBe(0)
      expect(await chat(mine!)).toBeGreaterThan(60)
      expect((await send(mine!)).json.usage).toEqual(first.json.usage)
    })
  })
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0)
}
