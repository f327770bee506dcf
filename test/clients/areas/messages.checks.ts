/** Checks 72 to 84 and 90: messages and the counting of their tokens. */
import { expect, test } from 'bun:test'
import { serverSalt } from '../../../packages/inference/src/servers/server-salt.ts'
import { pictureBase64 } from '../../servers/picture.ts'
import {
  type ClientStack,
  freshWords,
  message,
  messagesPath,
  model,
  saltOf,
  throughBoth,
  visionModel,
} from '../client-stack.ts'

const contextLength = 8192
const tools = [
  {
    name: 'look',
    description: 'looks',
    input_schema: { type: 'object', properties: { at: { type: 'string' } } },
  },
]
const thinking = { type: 'enabled', budget_tokens: 1024 }

export function messageChecks(place: ClientStack): void {
  throughBoth('messages', place, (entrance) => {
    const ask = (content: string, fields: object = {}) =>
      entrance.ask(messagesPath, message(content, fields))
    const everything = () =>
      ask('[[reason]] [[tool look {"at":"sky"}]]', { tools, thinking, stream: true })

    test('check 72: every event has a line with its name', async () => {
      const { events } = await everything()
      for (const { event, data } of events) expect(event).toBe(data.type)
    })

    test('check 73: events arrive in order, blocks one at a time, with consecutive indices', async () => {
      const { events } = await everything()
      expect(events[0]?.data.message).toMatchObject({
        type: 'message',
        role: 'assistant',
        content: [],
        model,
        usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
      })
      const order = events
        .filter(({ event }) => event !== 'ping')
        .map(({ event, data }) => [event, data.index ?? ''].join(' ').trim())
      const shape = order.filter((name, i) => name !== order[i - 1]).join(', ')
      expect(shape).toBe(
        [
          'message_start',
          ...[0, 1].flatMap((i) => [
            `content_block_start ${i}`,
            `content_block_delta ${i}`,
            `content_block_stop ${i}`,
          ]),
          'message_delta',
          'message_stop',
        ].join(', '),
      )
      const delta = events.find(({ event }) => event === 'message_delta')?.data
      expect(delta.delta.stop_reason).toBe('tool_use')
      expect(delta.usage.output_tokens).toBeGreaterThan(0)
    })

    test('check 74: tool_use starts with an empty input whose pieces join to JSON', async () => {
      const { events } = await ask('[[tool look {"at":"sky"}]]', { tools, stream: true })
      const start = events.find(({ event }) => event === 'content_block_start')?.data
      expect(start.content_block).toMatchObject({ type: 'tool_use', name: 'look', input: {} })
      const pieces = events.map(({ data }) => data.delta?.partial_json ?? '')
      expect(JSON.parse(pieces.join(''))).toEqual({ at: 'sky' })
      const { json } = await ask('[[tool look {"at":"sky"}]]', { tools })
      expect(json.stop_reason).toBe('tool_use')
      expect(json.content[0]).toMatchObject({ type: 'tool_use', input: { at: 'sky' } })
    })

    test('check 75: thinking comes first with one signature; echoed thinking is accepted', async () => {
      const { json } = await ask('[[reason]] hello', { thinking })
      expect(json.content).toMatchObject([
        { type: 'thinking', thinking: 'I think about it.', signature: expect.any(String) },
        { type: 'text', text: 'You said: hello' },
      ])
      const { events } = await ask('[[reason]] hello', { thinking, stream: true })
      const deltas = events.filter(({ event }) => event === 'content_block_delta')
      const types = deltas.map(({ data }) => data.delta.type)
      expect(types.filter((type) => type === 'signature_delta')).toHaveLength(1)
      expect(types.lastIndexOf('thinking_delta')).toBeLessThan(types.indexOf('signature_delta'))
      expect(types.indexOf('signature_delta')).toBeLessThan(types.indexOf('text_delta'))
      const messages = [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [...json.content, { type: 'redacted_thinking', data: 'x' }] },
        { role: 'user', content: 'b' },
      ]
      expect((await ask('', { messages, thinking })).status).toBe(200)
    })

    test('check 76: every stop reason is reported', async () => {
      const reasons = [
        [await ask('hi'), 'end_turn', null],
        [await ask('[[words 50]]', { max_tokens: 5 }), 'max_tokens', null],
        [await ask('[[words 9]]', { stop_sequences: ['word4'] }), 'stop_sequence', 'word4'],
        [await ask('[[tool look {}]]', { tools }), 'tool_use', null],
      ] as const
      for (const [{ json }, stop_reason, stop_sequence] of reasons) {
        expect(json).toMatchObject({ stop_reason, stop_sequence })
      }
    })

    test('check 77: system in all its forms, tools: [], thinking in its three, output_config', async () => {
      const cached = { type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }
      for (const fields of [
        { system: 'be kind' },
        { system: [cached, { type: 'text', text: 'be brief' }] },
        {
          messages: [
            { role: 'system', content: 'be kind' },
            { role: 'user', content: 'hi' },
          ],
        },
        { tools: [] },
        { thinking: { type: 'adaptive' } },
        { thinking },
        { thinking: { type: 'disabled' } },
        { output_config: { effort: 'high' } },
        { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
        { messages: [{ role: 'user', content: [{ ...cached, text: 'hi' }] }] },
      ]) {
        const { status } = await ask('hi', fields)
        expect([fields, status]).toEqual([fields, 200])
      }
    })

    test('check 78: a missing or wrong max_tokens is 400 and named; samplers are accepted', async () => {
      for (const max_tokens of [undefined, 0, '5']) {
        const { status, json } = await ask('hi', { max_tokens })
        expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
        expect(json.error.message).toContain('max_tokens')
      }
      expect((await ask('hi', { temperature: 1, top_p: 0.9, top_k: 40 })).status).toBe(200)
    })

    test('check 79: every version and beta header is accepted', async () => {
      const all: Record<string, string>[] = [
        {},
        { 'anthropic-version': '2023-06-01' },
        { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2025-01-01,unheard-of' },
      ]
      for (const headers of all) {
        const sent = { ...entrance.auth, ...headers }
        expect((await entrance.ask(messagesPath, message('hi'), sent)).status).toBe(200)
      }
    })

    test('check 80: overflow is reported in the wording that agents recover from', async () => {
      for (const stream of [false, true]) {
        const { status, json } = await ask('long '.repeat(contextLength + 1), { stream })
        expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
        expect(json.error.message).toMatch(
          new RegExp(`^prompt is too long: \\d+ tokens > ${contextLength} maximum$`),
        )
      }
      const fitted = await ask('fits', { max_tokens: 32_000 })
      expect(fitted.status).toBe(200)
    })

    test('check 81: input_tokens is the whole prompt, and no cached tokens are reported', async () => {
      const fields = { cache_salt: saltOf('m') }
      const words = freshWords(100)
      const first = await ask(words, fields)
      const again = await ask(words, fields)
      expect(first.json.usage.input_tokens).toBeGreaterThan(100)
      expect(again.json.usage).toEqual(first.json.usage)
      expect(again.json.usage.cache_read_input_tokens ?? 0).toBe(0)
    })

    test('check 82: count_tokens equals the tokens that the message is then charged for', async () => {
      const fields = { system: [{ type: 'text', text: 'be brief' }], tools }
      const { max_tokens: _, ...body } = message('how many tokens are these?', fields)
      const counted = await entrance.ask('/v1/messages/count_tokens', body)
      const { json } = await ask('how many tokens are these?', fields)
      expect(counted.json).toEqual({ input_tokens: json.usage.input_tokens })
    })

    test('check 83: two salts share no cache through messages either (cannot run here with the metrics of vLLM: no such server)', async () => {
      const words = freshWords(100)
      const salts = [saltOf('p'), saltOf('q')]
      for (const cache_salt of salts) await ask(words, { cache_salt })
      const seen = place.server.requests.filter(({ body }) => JSON.stringify(body).includes(words))
      expect(seen.map(({ path }) => path)).toEqual(salts.map(() => '/v1/chat/completions'))
      expect(seen.map(({ body }) => body.cache_salt)).toEqual(salts.map(serverSalt))
    })

    test('check 84: images work on a vision model and are a clear 400 elsewhere', async () => {
      const source = { type: 'base64', media_type: 'image/png', data: pictureBase64('messages') }
      const image = { type: 'image', source }
      const see = (content: unknown[]) => [{ role: 'user', content }]
      const plain = { messages: see([image, { type: 'text', text: 'what is it?' }]) }
      const { json } = await ask('', { ...plain, model: visionModel })
      expect(json.content[0].text).toContain('<image_url>')
      const refused = await ask('', plain)
      expect(refused.status).toBe(400)
      expect(refused.json.error.message).toContain('image')
      const mark = freshWords(2)
      const result = [{ type: 'text', text: mark }, image]
      const messages = [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
        ...see([{ type: 'tool_result', tool_use_id: 't1', content: result }]),
      ]
      expect((await ask('', { messages, tools, model: visionModel })).status).toBe(200)
      expect(JSON.stringify(place.seen(mark)?.body)).toContain(pictureBase64('messages'))
    })

    test('check 90: a billing block that changes with every turn does not spoil the prefix cache', async () => {
      const words = freshWords(100)
      const turn = async (billing: string) => {
        const line = { type: 'text', text: `x-anthropic-billing-header: ${billing}` }
        const system = [line, { type: 'text', text: words }]
        await ask('next', { system, cache_salt: saltOf('t') })
      }
      await turn('cc_version=1; cch=a1')
      await turn('cc_version=1; cch=b2')
      const prompts = place.server.requests
        .filter(({ body }) => JSON.stringify(body).includes(words))
        .map(({ body }) => JSON.stringify(body.messages))
      expect(prompts).toHaveLength(2)
      expect(prompts[0]).toBe(prompts[1]!)
      expect(prompts[0]).not.toContain('billing')
    })
  })
}
