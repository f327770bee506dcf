/** Checks 6 to 15, 20 to 22 and 27: what travels before anything is generated. */
import { describe, expect, test } from 'bun:test'
import { leastMs } from '../../least-ms.ts'
import {
  type ClientStack,
  chat,
  chatPath,
  freshWords,
  message,
  messagesPath,
  throughBoth,
} from '../client-stack.ts'
import { postHead, RawSocket } from '../raw-socket.ts'

const overLimit = 999_999_999

export function httpChecks(place: ClientStack): void {
  throughBoth('http', place, (entrance) => {
    test('check 6: errors follow the dialect of the path: 401, 404, 405, 413, 415', async () => {
      const text = { ...entrance.auth, 'content-type': 'text/plain' }
      const tooLong = 'x'.repeat(33 * 1024 * 1024)
      for (const [path, isAnthropic] of [
        [messagesPath, true],
        ['/v1/messages/count_tokens', true],
        [chatPath, false],
        ['/v1/embeddings', false],
      ] as const) {
        const answers = [
          [404, await entrance.ask(`${path}/nowhere`, '{}')],
          [405, await entrance.get(path)],
          [415, await entrance.ask(path, '{}', text)],
          [413, await entrance.ask(path, tooLong)],
        ] as const
        for (const [status, answer] of answers) {
          expect([path, answer.status]).toEqual([path, status])
          expect(answer.headers.get('content-type')).toStartWith('application/json')
          expect([path, status, answer.json.type]).toEqual([
            path,
            status,
            isAnthropic ? 'error' : undefined,
          ])
          expect(answer.json.error.message).toBeString()
          expect('code' in answer.json.error).toBe(!isAnthropic)
        }
        const types = answers.map(([, { json }]) => json.error.type)
        const bad = 'invalid_request_error'
        const anthropic = ['not_found_error', bad, bad, 'request_too_large']
        expect(types).toEqual(isAnthropic ? anthropic : [bad, bad, bad, bad])
      }
    }, 240_000)

    test('check 7: an unknown path is 404 JSON, a wrong method 405 JSON with Allow', async () => {
      for (const path of ['/v2/chat', '/v1/audio/speech', '/v1/chat/completions/']) {
        const unknown = await entrance.get(path)
        expect([unknown.status, unknown.json.error.code]).toEqual([404, 'not_found'])
      }
      const wrong = await entrance.get(chatPath)
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
      const posted = await entrance.ask('/v1/models', '{}')
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    })

    test('check 8: every response has x-request-id and request-id with one value', async () => {
      const answers = await Promise.all([
        entrance.ask(chatPath, chat('hi')),
        entrance.ask(chatPath, chat('hi', { stream: true })),
        entrance.ask(messagesPath, message('hi')),
        entrance.ask(messagesPath, message('hi', { stream: true })),
        entrance.ask(chatPath, '{'),
        entrance.ask(messagesPath, message('hi', { max_tokens: 0 })),
        entrance.ask(messagesPath, message('[[error 500 broken]]')),
        entrance.get('/v1/models'),
        entrance.get('/nowhere'),
        entrance.get('/health'),
      ])
      const ids = answers.map(({ headers }) => headers.get('x-request-id'))
      expect(new Set(ids).size).toBe(answers.length)
      for (const [i, { headers, json, status }] of answers.entries()) {
        expect(ids[i]).toMatch(/^[0-9a-f]{32}$/)
        expect(headers.get('request-id')).toBe(ids[i]!)
        if (status >= 400 && json.type === 'error') expect(json.request_id).toBe(ids[i])
      }
    })

    test('check 11: a body over the limit is 413 before it is read, and the end is clean', async () => {
      const socket = await RawSocket.connect(entrance)
      socket.send(`${postHead(chatPath, overLimit, entrance.auth)}{"model":`)
      expect(await socket.until(/\r\n\r\n[\s\S]*}/)).toStartWith('HTTP/1.1 413')
      socket.close()
      expect((await entrance.ask(chatPath, chat('hi'))).status).toBe(200)
    })

    test('check 12: malformed JSON, arrays, null and invalid UTF-8 are 400 with a reason', async () => {
      const broken = new TextEncoder().encode(JSON.stringify(chat('hi')))
      broken[broken.indexOf(0x68)] = 0xff
      const bodies = ['{"model":', '[]', 'null', '"text"', '', '{"model":"scripted",}', broken]
      for (const body of bodies) {
        for (const path of [chatPath, messagesPath]) {
          const { status, json } = await entrance.ask(path, body)
          expect([body, status]).toEqual([body, 400])
          expect(json.error.type).toBe('invalid_request_error')
          expect(json.error.message.length).toBeGreaterThan(10)
        }
      }
    })

    test('check 13: another content type is 415, a charset is accepted', async () => {
      const typed = (type: string) =>
        entrance.ask(chatPath, chat('hi'), { ...entrance.auth, 'content-type': type })
      expect((await typed('text/plain')).status).toBe(415)
      expect((await typed('application/json; charset=utf-8')).status).toBe(200)
      expect((await typed('Application/JSON')).status).toBe(200)
    })

    test('check 14: a gzip body is decoded within limits, other encodings are 415', async () => {
      const zipped = (body: string | Uint8Array<ArrayBuffer>, encoding = 'gzip') =>
        entrance.ask(chatPath, body, { ...entrance.auth, 'content-encoding': encoding })
      const good = await zipped(Bun.gzipSync(JSON.stringify(chat('hello'))))
      expect(good.json.choices[0].message.content).toContain('hello')
      expect((await zipped(Bun.gzipSync(' '.repeat(40 * 1024 * 1024)))).status).toBe(413)
      expect((await zipped('not gzip')).status).toBe(400)
      expect((await zipped('x', 'br')).status).toBe(415)
    })

    test('check 15: 2 MB after Expect: 100-continue complete without a stall', async () => {
      const body = JSON.stringify(chat('x'.repeat(2 * 1024 * 1024)))
      const headers = { ...entrance.auth, expect: '100-continue' }
      let socket!: RawSocket
      const askedMs = await leastMs(900, async () => {
        socket?.close()
        socket = await RawSocket.connect(entrance)
        socket.send(postHead(chatPath, body.length, headers))
        expect(await socket.until(/100 Continue/)).toContain('100 Continue')
      })
      expect(askedMs).toBeLessThan(900)
      socket.send(body)
      expect(await socket.until(/HTTP\/1\.1 [2-5]\d\d [\s\S]*\r\n\r\n/)).toContain(
        'HTTP/1.1 200 OK',
      )
      socket.close()
    })

    test('check 22: HEAD / and GET /health answer without a key, and fast', async () => {
      const answeredMs = await leastMs(1000, async () => {
        const head = await entrance.fetch('/', { method: 'HEAD' })
        const health = await entrance.fetch('/health')
        expect([head.status, health.status]).toEqual([200, 200])
      })
      expect(answeredMs).toBeLessThan(1000)
    })

    test('check 27: unknown request fields are accepted and reach the model server', async () => {
      const unknown = {
        metadata: { user: 'u' },
        prompt_cache_key: 'k',
        safety_identifier: 's',
        store: false,
        verbosity: 'low',
        future_field: { deep: [1, null, 'é'] },
      }
      const words = freshWords(3)
      expect((await entrance.ask(chatPath, chat(words, unknown))).status).toBe(200)
      expect(place.seen(words)?.body).toMatchObject(unknown)
      const own = { context_management: { edits: [] }, future_field: { deep: [1] }, speed: 'fast' }
      expect((await entrance.ask(messagesPath, message(`m ${words}`, own))).status).toBe(200)
      expect(place.seen(`m ${words}`)?.body).toMatchObject({ future_field: { deep: [1] } })
    })
  })

  describe('pages in a browser', () => {
    const origin = 'https://app.example'

    test('check 20: the proxyless endpoint answers preflights without a key', async () => {
      const asked = [
        'authorization',
        'x-api-key',
        'content-type',
        'anthropic-version',
        'anthropic-beta',
        'anthropic-dangerous-direct-browser-access',
        'x-stainless-lang',
        'x-stainless-package-version',
        'x-stainless-retry-count',
      ]
      for (const path of [chatPath, messagesPath, '/v1/models']) {
        const preflight = await place.proxyless.fetch(path, {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': asked.join(','),
          },
        })
        expect([path, preflight.status]).toEqual([path, 204])
        const allowed = preflight.headers.get('access-control-allow-headers') ?? ''
        expect(allowed.split(', ').sort()).toEqual([...asked].sort())
      }
      const { headers } = await place.proxyless.ask(chatPath, chat('hi'), {
        ...place.proxyless.auth,
        origin,
      })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      const exposed = headers.get('access-control-expose-headers')
      for (const name of ['x-request-id', 'request-id', 'retry-after']) {
        expect(exposed).toContain(name)
      }
    })

    test('check 21: the local proxy refuses foreign origins and hosts', async () => {
      const foreign = await place.proxy.ask(chatPath, chat('hi'), { origin })
      expect(foreign.status).toBe(403)
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
      const rebound = await place.proxy.ask(chatPath, chat('hi'), { host: 'evil.example' })
      expect([rebound.status, rebound.json.error.code]).toEqual([403, 'permission_denied'])
      const preflight = await place.proxy.fetch(chatPath, {
        method: 'OPTIONS',
        headers: { origin },
      })
      expect(preflight.status).toBe(403)
    })
  })
}
