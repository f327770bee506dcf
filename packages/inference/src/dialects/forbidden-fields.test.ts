/** Callers cannot control the model server. */
import { describe, expect, test } from 'bun:test'
import { routes } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { ask } from '../testing/ask.ts'
import { everyEndpoint } from '../testing/every-endpoint.ts'
import { chatModel, ScriptedEngine } from '../testing/scripted-engine.ts'

const chat = { model: chatModel.id, messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 }
const forbidden: readonly string[] = [
  ...['chat_template'],
  ...['kv_transfer_params', 'ec_transfer_params'],
  ...['bootstrap_host', 'bootstrap_port', 'bootstrap_room'],
  ...['prompt_embeds', 'input_embeds'],
  ...['input_ids', 'embed_overrides', 'embed_override_token_id'],
  ...['image_data', 'audio_data', 'video_data'],
  ...['media_io_kwargs', 'images_config', 'video_config', 'mm_processor_kwargs'],
  ...['priority', 'vllm_xargs'],
  ...['request_id', 'rid'],
  ...['extra_key', 'session_id', 'session_params'],
  ...['ngram_corpus_id', 'custom_labels'],
  ...['routed_dp_rank', 'data_parallel_rank', 'disagg_prefill_dp_rank'],
  ...['id_slot', 'slot_id'],
  ...['stop_regex', 'repetition_detection'],
  ...['grammar', 'grammar_lazy', 'grammar_triggers', 'guided_grammar', 'ebnf'],
  ...['logits_processors', 'custom_logit_processor'],
  ...['custom_params', 'lora_path', 'stream_interval'],
]
const answers = { choices: [{ message: { content: 'a' } }], data: [{ embedding: [1] }] }

test('check 63: every endpoint that reaches a model server is covered', () => {
  const sealed = routes.filter((route) => route.sealed).map(({ path }) => path)
  expect(everyEndpoint.map(([path]) => path).sort()).toEqual(sealed.sort())
})

describe.each([...everyEndpoint])('on %s', (path, body) => {
  test.each(forbidden)('check 63: %s is refused and reaches no engine', async (param) => {
    const engine = new ScriptedEngine({ body: answers })
    const { status } = await ask(engine, path, { ...body, [param]: 1 })
    expect([status, engine.calls.length, engine.counted.length]).toEqual([400, 0, 0])
  })

  test('check 63: if they are null, the request is accepted and they reach no engine', async () => {
    const engine = new ScriptedEngine({ body: answers })
    const nulls = Object.fromEntries(forbidden.map((param) => [param, null]))
    expect((await ask(engine, path, { ...body, ...nulls })).status).toBe(200)
    const [sent = engine.calls[0]?.body] = engine.counted
    expect(sent).toMatchObject({ model: body.model })
    expect(Object.keys(sent ?? {}).filter((name) => forbidden.includes(name))).toEqual([])
  })

  test.each([
    ['chat_template_kwargs', 'chat_template'],
    ['chat_template_kwargs', 'tokenize'],
    ['chat_template_kwargs', 'conversation'],
    ['structured_outputs', 'grammar'],
    ['structured_outputs', 'structural_tag'],
  ])('check 63: %s.%s is refused as well', async (outer, name) => {
    const engine = new ScriptedEngine({ body: answers })
    const refused = await ask(engine, path, { ...body, [outer]: { [name]: '{{ x }}' } })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain(`'${outer}.${name}' is not accepted`)
    expect([engine.calls.length, engine.counted.length]).toEqual([0, 0])
    const given = await ask(engine, path, { ...body, [outer]: { [name]: null } })
    expect(given.status).toBe(200)
  })
})

describe('media', () => {
  const image = (image_url: unknown) => ({
    ...chat,
    model: 'eyes',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }],
  })
  const png = 'data:image/png;base64,iVBORw0KGgo='
  const statusOf = async (body: JsonObject) =>
    (await ask(new ScriptedEngine({ deltas: [{ content: 'a' }] }), '/v1/chat/completions', body))
      .status

  test('check 63: a URL that would be fetched is refused in every spelling', async () => {
    const urls = [
      'http://a/b.png',
      'https://a/b.png',
      'file:///etc/passwd',
      'HTTP://a',
      ' http://a',
    ]
    for (const url of urls) {
      expect(await statusOf(image({ url }))).toBe(400)
      expect(await statusOf(image(url))).toBe(400)
    }
    expect(await statusOf(image({ url: 'data:text/html,<p>' }))).toBe(400)
  })

  test('check 63: media of other kinds, and media hidden next to text, are refused', async () => {
    const parts = [
      { type: 'video_url', video_url: { url: 'http://a' } },
      { type: 'audio_url', audio_url: { url: 'http://a' } },
      { type: 'image_embeds', image_embeds: 'x' },
      { type: 'input_audio', input_audio: { data: 'x' } },
      { image_url: 'http://a' },
      { type: 'text', text: 'a', image_url: 'http://a' },
      { type: 'image_url', image_url: { url: png }, video_url: { url: 'http://a' } },
    ]
    for (const part of parts)
      for (const role of ['user', 'system', 'assistant'])
        expect(
          await statusOf({ ...chat, model: 'eyes', messages: [{ role, content: [part] }] }),
        ).toBe(400)
  })

  test('check 63: an image has no identity besides its content', async () => {
    const given = (part: JsonObject, inner: JsonObject): JsonObject => {
      const content = [{ type: 'image_url', image_url: { url: png, ...inner }, ...part }]
      return { ...chat, model: 'eyes', messages: [{ role: 'user', content }] }
    }
    expect(await statusOf(given({ cache_control: null }, { detail: 'low' }))).toBe(200)
    for (const key of ['uuid', 'content_hash', 'something']) {
      expect(await statusOf(given({ [key]: 'a' }, {}))).toBe(400)
      expect(await statusOf(given({}, { [key]: 'a' }))).toBe(400)
    }
  })

  test('check 84: an image is accepted by a model with vision and is a clear 400 otherwise', async () => {
    expect(await statusOf(image({ url: png }))).toBe(200)
    expect(await statusOf({ ...image({ url: png }), model: chatModel.id })).toBe(400)
  })
})
