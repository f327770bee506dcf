/** Checks 28, 62 and 63: what leaves the machine, what the gateway sees, what a caller may not steer. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { findSecrets } from '../../blindness/find-secret.ts'
import { type Recording, startRecordingRelay } from '../../blindness/recording-relay.ts'
import {
  type ClientStack,
  chat,
  chatPath,
  freshWords,
  message,
  messagesPath,
  model,
  throughBoth,
  visionModel,
} from '../client-stack.ts'
import { type ExtraProxy, startExtraProxy } from '../extra-proxies.ts'

const secrets = {
  prompt: 'the heron Balthazar nests behind the third boathouse',
  salt: 'salt-for-one-user-0123456789-abcdefghijklmnop',
  tool: 'open_boathouse_register',
  stop: 'heron-stop-word',
  schema: 'heron_schema_name',
  system: 'answer as the harbour master would',
}

const headers = {
  'x-codex-turn-metadata': '{"workspace":"/home/ines/secret-project"}',
  'user-agent': 'agent-of-ines/1.0',
  cookie: 'session=ines-cookie',
  referer: 'http://ines.example/notes',
  'x-stainless-os': 'Ines-OS',
  'x-anything': 'ines-anything',
}

export function privacyChecks(place: ClientStack): void {
  describe('the wire between client and gateway', () => {
    let relay: Recording
    let proxies: ExtraProxy[]
    beforeAll(async () => {
      relay = startRecordingRelay(place.stack.gatewayUrl)
      const apiEndpoint = relay.url
      proxies = await Promise.all([
        startExtraProxy(place.stack, { apiEndpoint, apiKey: place.stack.apiKey }),
        startExtraProxy(place.stack, { apiEndpoint, hosted: true }),
      ])
    }, 150_000)
    afterAll(async () => {
      await Promise.all((proxies ?? []).map(({ process }) => process.stop()))
      relay?.stop()
    }, 240_000)

    test('check 28: headers outside the allow-list do not leave the machine', async () => {
      for (const { entrance } of proxies) {
        const all = { ...entrance.auth, ...headers }
        expect((await entrance.ask(chatPath, chat('hi'), all)).status).toBe(200)
        expect((await entrance.ask(messagesPath, message('hi'), all)).status).toBe(200)
        expect((await entrance.get('/v1/models', all)).status).toBe(200)
      }
      const seen = relay.bytes().toString('latin1').toLowerCase()
      expect(seen).toContain('privatemode-model')
      for (const name of ['x-codex-turn-metadata', 'cookie', 'referer', 'x-stainless-os', 'ines']) {
        expect([name, seen.includes(name)]).toEqual([name, false])
      }
    })

    test('check 62: of a body the gateway sees the name of the model and nothing else', async () => {
      const body = chat(secrets.prompt, {
        messages: [
          { role: 'system', content: secrets.system },
          { role: 'user', content: secrets.prompt },
        ],
        cache_salt: secrets.salt,
        stop: [secrets.stop],
        logit_bias: { '31337': -73 },
        tools: [{ type: 'function', function: { name: secrets.tool, parameters: {} } }],
        response_format: {
          type: 'json_schema',
          json_schema: { name: secrets.schema, schema: { type: 'object' } },
        },
      })
      const before = relay.bytes().length
      for (const { entrance } of proxies) {
        const whole = await entrance.ask(chatPath, body)
        expect(whole.text).toContain(secrets.prompt)
        const streamed = await entrance.ask(chatPath, { ...body, stream: true })
        expect(streamed.text).toContain('Balthazar')
      }
      const seen = relay.bytes().subarray(before)
      expect(seen.toString('latin1')).toContain(`privatemode-model: ${model}`)
      expect(findSecrets(seen, [...Object.values(secrets), '31337'])).toEqual([])
    })
  })

  throughBoth('steering', place, (entrance) => {
    const image = (text: string, url: string) => [
      { type: 'text', text },
      { type: 'image_url', image_url: { url } },
    ]

    test('check 63: fields that steer the model server are refused, with their names', async () => {
      const dangerous = {
        chat_template: '{{ 1 }}',
        kv_transfer_params: { do_remote_prefill: true },
        prompt_embeds: 'AAAA',
        priority: 1,
        vllm_xargs: { a: 1 },
        request_id: 'mine',
      }
      const words = freshWords(2)
      for (const [name, value] of Object.entries(dangerous)) {
        for (const [path, body] of [
          [chatPath, chat(words)],
          [messagesPath, message(words)],
        ] as const) {
          const { status, json } = await entrance.ask(path, { ...body, [name]: value })
          expect([name, status]).toEqual([name, 400])
          expect(json.error.message).toContain(name)
        }
      }
      for (const url of ['http://127.0.0.1:1/x.png', 'https://example.com/x.png', 'file:///x']) {
        const content = image(words, url)
        const asked = { model: visionModel, messages: [{ role: 'user', content }] }
        expect([url, (await entrance.ask(chatPath, asked)).status]).toEqual([url, 400])
      }
      expect(place.seen(words)).toBeUndefined()
    })
  })
}
