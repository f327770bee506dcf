/** Checks 1 to 5: under whose key a request is served, and what happens without one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Recording, startRecordingRelay } from '../../blindness/recording-relay.ts'
import {
  type ClientStack,
  chat,
  chatPath,
  embedModel,
  message,
  messagesPath,
  model,
  throughBoth,
} from '../client-stack.ts'
import { type ExtraProxy, startExtraProxy } from '../extra-proxies.ts'

const calls: readonly [string, object][] = [
  [chatPath, chat('hi')],
  ['/v1/completions', { model, prompt: 'hi' }],
  ['/v1/embeddings', { model: embedModel, input: 'hi' }],
  ['/v1/responses', { model, input: 'hi' }],
  [messagesPath, message('hi')],
  ['/v1/messages/count_tokens', chat('hi')],
]

export function keyChecks(place: ClientStack): void {
  throughBoth('keys', place, (entrance) => {
    const bearer = () => ({ authorization: `Bearer ${place.stack.apiKey}` })

    test('check 1: a bearer key works on every endpoint', async () => {
      for (const [path, body] of calls) {
        expect([path, (await entrance.ask(path, body, bearer())).status]).toEqual([path, 200])
      }
      for (const path of ['/v1/models', `/v1/models/${model}`]) {
        expect((await entrance.get(path, bearer())).status).toBe(200)
      }
    })

    test('check 2: x-api-key works on messages, count_tokens and models', async () => {
      const headers = { 'x-api-key': place.stack.apiKey }
      for (const [path, body] of calls) {
        expect([path, (await entrance.ask(path, body, headers)).status]).toEqual([path, 200])
      }
      expect((await entrance.get('/v1/models', headers)).status).toBe(200)
    })
  })

  describe('keys that a proxy passes on or keeps', () => {
    let relay: Recording
    let keyed: ExtraProxy
    let open: ExtraProxy
    beforeAll(async () => {
      relay = startRecordingRelay(place.stack.gatewayUrl)
      const apiEndpoint = relay.url
      ;[keyed, open] = await Promise.all([
        startExtraProxy(place.stack, { apiEndpoint, apiKey: place.stack.apiKey }),
        startExtraProxy(place.stack, { apiEndpoint }),
      ])
    }, 150_000)
    afterAll(async () => {
      await Promise.all([keyed?.process.stop(), open?.process.stop()])
      relay?.stop()
    }, 240_000)

    test("check 3: with the proxy's own key clients need none, and theirs is never forwarded", async () => {
      expect((await keyed.entrance.ask(chatPath, chat('hi'), {})).status).toBe(200)
      const headers = { authorization: 'Bearer wrong-key-4711', 'x-api-key': 'wrong-key-4711' }
      expect((await keyed.entrance.ask(chatPath, chat('hi'), headers)).status).toBe(200)
      expect((await keyed.entrance.get('/v1/models', headers)).status).toBe(200)
      const seen = relay.bytes().toString('latin1')
      expect(seen).toContain(`Bearer ${place.stack.apiKey}`)
      expect(seen).not.toContain('wrong-key-4711')
    })

    test('check 4: without it two clients reach the backend each under its own key', async () => {
      const second = await place.createKey('second')
      const before = relay.bytes().length
      for (const headers of [
        { authorization: `Bearer ${place.stack.apiKey}` },
        { 'x-api-key': second },
      ]) {
        expect((await open.entrance.ask(messagesPath, message('hi'), headers)).status).toBe(200)
      }
      const seen = relay.bytes().subarray(before).toString('latin1').toLowerCase()
      for (const key of [place.stack.apiKey, second]) {
        expect(seen).toContain(`authorization: bearer ${key.toLowerCase()}`)
      }
      expect(seen).not.toContain('x-api-key')
    })

    test('check 5: a missing or unknown key is 401 in the dialect of the path', async () => {
      for (const entrance of [place.proxyless, open.entrance]) {
        const wrongKeys: Record<string, string>[] = [{}, { authorization: 'Bearer pm-unknown' }]
        for (const headers of wrongKeys) {
          const openai = await entrance.ask(chatPath, chat('hi'), headers)
          expect(openai.status).toBe(401)
          expect(openai.json.error).toEqual({
            message: expect.any(String),
            type: 'invalid_request_error',
            param: null,
            code: 'invalid_api_key',
          })
          const anthropic = await entrance.ask(messagesPath, message('hi'), headers)
          expect(anthropic.status).toBe(401)
          expect(anthropic.json).toMatchObject({
            type: 'error',
            error: { type: 'authentication_error', message: expect.any(String) },
          })
        }
      }
    })
  })
}
