/** Checks 9 and 10: what official clients try again, after which time, and what they give up at once. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ScriptedReply } from '../../../packages/inference/src/testing/scripted-model.ts'
import {
  type ClientStack,
  chat,
  chatPath,
  message,
  messagesPath,
  throughBoth,
} from '../client-stack.ts'
import { Entrance } from '../entrance.ts'
import { type ExtraProxy, startExtraProxy } from '../extra-proxies.ts'

const busy: ScriptedReply = { error: { status: 503, message: 'no room' } }

export function retryChecks(place: ClientStack): void {
  throughBoth('retries', place, (entrance) => {
    test('check 9: 503 and 529 carry retry-after, and official clients wait and succeed', async () => {
      const openai = await entrance.ask(chatPath, chat('[[error 503 full]]'))
      expect([openai.status, openai.json.error.type]).toEqual([503, 'server_error'])
      const anthropic = await entrance.ask(messagesPath, message('[[error 503 full]]'))
      expect([anthropic.status, anthropic.json.error.type]).toEqual([529, 'overloaded_error'])
      for (const { headers } of [openai, anthropic]) {
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
      const clients: [string, () => PromiseLike<unknown>][] = [
        ['a', () => entrance.openai({ maxRetries: 1 }).chat.completions.create(chat('retry a'))],
        ['b', () => entrance.anthropic(undefined, 1).messages.create(message('retry b'))],
      ]
      for (const [name, call] of clients) {
        let tries = 0
        place.server.change({
          reply: ({ last }) => (last === `retry ${name}` && tries++ === 0 ? busy : undefined),
        })
        const started = performance.now()
        await call()
        expect(tries).toBe(2)
        expect(performance.now() - started).toBeGreaterThan(950)
      }
    }, 240_000)
  })

  describe('a key with a limit', () => {
    let limited: ExtraProxy
    let entrances: Entrance[]
    beforeAll(async () => {
      const apiKey = await place.createKey('one at a time', { concurrent_streams: 1 })
      limited = await startExtraProxy(place.stack, { apiKey })
      const proxyless = new Entrance('proxyless', () => ({ ...place.proxyless.target, apiKey }))
      entrances = [limited.entrance, proxyless]
    }, 150_000)
    afterAll(() => limited?.process.stop(), 90_000)

    test('check 9: 429 carries retry-after, and official clients wait and succeed', async () => {
      const calls = [
        (entrance: Entrance, send: typeof fetch) =>
          entrance.openai({ maxRetries: 6, fetch: send }).chat.completions.create(chat('next')),
        (entrance: Entrance, send: typeof fetch) =>
          entrance
            .anthropic(undefined, 6)
            .withOptions({ fetch: send })
            .messages.create(message('next')),
      ]
      for (const [i, entrance] of entrances.entries()) {
        const first = await holdPlace(entrance)
        for (const path of [chatPath, messagesPath]) {
          const refused = await entrance.ask(path, message('next'))
          expect([path, refused.status]).toEqual([path, 429])
          expect(refused.json.error.type).toBe('rate_limit_error')
          expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
        }
        const tries: { status: number; ms: number }[] = []
        const send = entrance.clientFetch()
        const watching = (async (input: string, init?: RequestInit) => {
          const started = performance.now()
          const response = await send(input, init)
          tries.push({ status: response.status, ms: started })
          if (response.status === 429) first.abort() // the place is free for the next try
          return response
        }) as typeof fetch
        await calls[i]?.(entrance, watching)
        const [refused, next] = tries
        expect([refused?.status, tries.at(-1)?.status]).toEqual([429, 200])
        expect(next!.ms - refused!.ms).toBeGreaterThan(950)
      }
    }, 240_000)

    /** Takes the one place there is, as soon as the request before has left it. */
    async function holdPlace(entrance: Entrance): Promise<AbortController> {
      const body = chat('[[pace 100]] [[words 900]]', { stream: true })
      for (let wait = 0; ; wait++) {
        const abort = new AbortController()
        const held = await entrance.post(chatPath, body, entrance.auth, { signal: abort.signal })
        if (held.status === 200) {
          await held.body!.getReader().read()
          return abort
        }
        expect([held.status, wait < 200]).toEqual([429, true])
        await Bun.sleep(50)
      }
    }
  })

  describe('a backend that attestation refuses', () => {
    let refusing: ExtraProxy[]
    beforeAll(async () => {
      const softwareRoot = '00'.repeat(32)
      refusing = await Promise.all([
        startExtraProxy(place.stack, { softwareRoot, cold: true, apiKey: place.stack.apiKey }),
        startExtraProxy(place.stack, { softwareRoot, cold: true, hosted: true }),
      ])
    }, 150_000)
    afterAll(() => Promise.all((refusing ?? []).map(({ process }) => process.stop())), 90_000)

    test('check 10: the refusal carries x-should-retry: false and clients try once', async () => {
      for (const { entrance } of refusing) {
        const answer = await entrance.ask(chatPath, chat('hi'))
        expect([answer.status, answer.json.error.code]).toEqual([502, 'attestation_refused'])
        expect(answer.headers.get('x-should-retry')).toBe('false')
        let attempts = 0
        const send = entrance.clientFetch()
        const counting = ((input: string, init?: RequestInit) => {
          attempts++
          return send(input, init)
        }) as typeof fetch
        const openai = entrance.openai({ maxRetries: 3, fetch: counting })
        const failure = await openai.chat.completions.create(chat('hi')).catch((error) => error)
        expect([failure.status, attempts]).toEqual([502, 1])
        const anthropic = entrance.anthropic(undefined, 3).withOptions({ fetch: counting })
        const other = await anthropic.messages.create(message('hi')).catch((error) => error)
        expect([other.status, attempts]).toEqual([502, 2])
      }
    }, 240_000)
  })
}
