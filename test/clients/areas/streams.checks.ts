/** Checks 16 to 19 and 23 to 26: streams, silence, disconnects, lost backends, idle connections. */
import { beforeAll, describe, expect, test } from 'bun:test'
import type { Recorded } from '../../../packages/inference/src/testing/scripted-server.ts'
import {
  type ClientStack,
  chat,
  chatPath,
  freshWords,
  message,
  messagesPath,
  throughBoth,
} from '../client-stack.ts'
import { type Entrance, readAnswer } from '../entrance.ts'

/** Longer than the 15 s that a stream may be silent. */
const prefillMs = 17_000
const idleMs = 70_000

export function streamChecks(place: ClientStack): void {
  throughBoth('streams', place, (entrance) => {
    test('check 16: streams are event streams, not cached, not buffered, never compressed', async () => {
      const headers = { ...entrance.auth, 'accept-encoding': 'gzip, br, zstd' }
      for (const [path, body] of bothStreams('hi')) {
        const answer = await entrance.ask(path, body, headers)
        expect(answer.headers.get('content-type')).toStartWith('text/event-stream')
        expect(answer.headers.get('cache-control')).toBe('no-cache')
        expect(answer.headers.get('x-accel-buffering')).toBe('no')
        expect(answer.headers.get('content-encoding')).toBeNull()
        expect(answer.text).toContain('data: {')
      }
    })

    test('check 17: every event arrives while the next token does not exist yet', async () => {
      const response = await entrance.post(
        chatPath,
        chat('[[pace 400]] one two three', { stream: true }),
      )
      const arrivals = await arrivalsOf(response, '"content":"')
      expect(arrivals.length).toBeGreaterThanOrEqual(4)
      const gaps = arrivals.slice(1).map((at, i) => at - arrivals[i]!)
      expect(gaps.filter((gap) => gap > 200).length).toBeGreaterThanOrEqual(3)
    })

    test('check 19: Accept: application/json with stream: true still streams', async () => {
      for (const [path, body] of bothStreams('hi')) {
        const headers = { ...entrance.auth, accept: 'application/json' }
        expect((await entrance.ask(path, body, headers)).events.length).toBeGreaterThan(2)
      }
    })

    test('check 23: a disconnect during a stream stops the generation within a second', async () => {
      const disconnect = async (path: string, body: object, mark: string): Promise<number> => {
        const abort = new AbortController()
        const started = performance.now()
        const response = await entrance.post(path, body, entrance.auth, { signal: abort.signal })
        const reader = response.body!.getReader()
        const sent = wordsIn((await reader.read()).value)
        const gone = performance.now()
        abort.abort()
        const seen = place.seen(mark)
        await untilAborted(seen)
        const stopped = performance.now()
        const billed = await place.metered(response.headers.get('x-request-id')!)
        expect(billed.outcome).toBe('aborted')
        expect(billed.prompt_tokens).toBe(seen!.promptTokens!)
        // The model makes a token in 50 ms: what was made until the abort arrived, and no more.
        const made = (stopped - started) / 50
        expect(billed.completion_tokens).toBeWithin(sent, made + 3)
        return stopped - gone
      }
      for (const at of [0, 1]) {
        let leastMs = Number.POSITIVE_INFINITY
        // On a busy machine one may come late; what is not passed on is late each time.
        for (let tries = 0; tries < 3 && leastMs >= 1000; tries++) {
          const mark = freshWords(2)
          const [path, body] = bothStreams(`[[pace 50]] [[words 400]] ${mark}`)[at]!
          leastMs = Math.min(leastMs, await disconnect(path, body, mark))
        }
        expect(leastMs).toBeLessThan(1000)
      }
    })

    test('usage is exact for requests that are whole, streamed, cut, refused and failed', async () => {
      const words = '[[words 9]]'
      const asked: [ReturnType<typeof chat>, number, string][] = [
        [chat(words), 9, 'complete'],
        [chat(words, { stream: true }), 9, 'complete'],
        [chat(words, { max_tokens: 4 }), 4, 'complete'],
        [chat(words, { n: 2, stream: true }), 18, 'complete'],
        [chat(`[[pace 20]] [[fail 3]] ${words}`, { stream: true }), 3, 'failed'],
        [chat('[[error 500 broken]]'), 0, 'failed'],
      ]
      for (const [body, completion, outcome] of asked) {
        const { headers } = await entrance.ask(chatPath, body)
        const metered = await place.metered(headers.get('x-request-id')!)
        // Others ask meanwhile: those that wait long run beside all tests.
        const wanted = JSON.stringify(body.messages)
        const seen = place.server.requests.findLast(
          (request) => JSON.stringify(request.body.messages) === wanted,
        )
        expect([body, metered.completion_tokens, metered.outcome]).toEqual([
          body,
          completion,
          outcome,
        ])
        expect([body, metered.prompt_tokens]).toEqual([body, seen?.promptTokens ?? 0])
      }
    })

    test('check 24: a disconnect without a stream stops the generation', async () => {
      for (const [path, make] of [
        [chatPath, chat],
        [messagesPath, message],
      ] as const) {
        const mark = freshWords(2)
        const body = make(`[[slow 20000]] ${mark}`)
        const abort = new AbortController()
        const going = entrance.post(path, body, entrance.auth, { signal: abort.signal })
        const failed = going.then(
          () => false,
          () => true,
        )
        while (place.seen(mark) === undefined) await Bun.sleep(5)
        const seen = place.seen(mark)
        abort.abort()
        expect(await failed).toBe(true)
        await untilAborted(seen)
      }
    })

    test('check 25: a backend that dies during a stream causes an error event, never a clean end', async () => {
      for (const order of ['die 3', 'fail 3']) {
        // With a pace the first words are on their way before the end, not lost with it.
        const words = `[[pace 20]] [[${order}]] one two three four five six seven`
        const openai = await entrance.ask(chatPath, chat(words, { stream: true }))
        expect(openai.events.at(-1)?.data.error.type).toBe('server_error')
        expect(openai.text).not.toContain('[DONE]')
        expect(openai.text).not.toContain('"finish_reason":"')
        const anthropic = await entrance.ask(messagesPath, message(words, { stream: true }))
        expect(anthropic.events.at(-1)).toMatchObject({
          event: 'error',
          data: { type: 'error', error: { type: 'api_error' } },
        })
        expect(anthropic.text).not.toContain('message_stop')
      }
    })
  })
}

/** What takes long runs from the start of the suite on and is looked at in its end. */
export function patienceChecks(place: ClientStack): () => void {
  const entrances = [place.proxy, place.proxyless]
  let prefills: Promise<Silence[]>[]
  let idles: Promise<void>[]
  beforeAll(() => {
    prefills = entrances.map((entrance) => measureSilence(entrance))
    idles = entrances.map((entrance) => restAndAskAgain(entrance))
    // Looked at by the tests below, which may come long after a failure.
    for (const work of [...prefills, ...idles]) work.catch(() => {})
  })

  return () => {
    describe.each(entrances.map((entrance, i) => [entrance.name, i] as const))(
      'patience, %s',
      (_, i) => {
        test('check 18: silence in a long prefill is broken at least every 15 s', async () => {
          for (const { longestMs, text, path } of await prefills[i]!) {
            expect([path, longestMs < 15_000]).toEqual([path, true])
            expect(text).toMatch(
              path === chatPath ? /^: /m : /^event: ping\ndata: {"type": ?"ping"}/m,
            )
            expect(text).toContain('patience')
          }
        }, 240_000)

        test('check 26: after 200 requests and 70 s of rest the next request works', async () => {
          await idles[i]!
        }, 150_000)
      },
    )
  }
}

const bothStreams = (content: string): [string, object][] => [
  [chatPath, chat(content, { stream: true })],
  [messagesPath, message(content, { stream: true })],
]

/** Tokens of the scripted model are words, and each has an event of its own. */
const wordsIn = (bytes: Uint8Array | undefined) =>
  new TextDecoder().decode(bytes).match(/"word\d+|" word\d+/g)?.length ?? 0

/** When each event with `mark` in it came, in milliseconds. */
async function arrivalsOf(response: Response, mark: string): Promise<number[]> {
  const arrivals: number[] = []
  const decoder = new TextDecoder()
  for await (const chunk of response.body!) {
    const count = decoder.decode(chunk, { stream: true }).split(mark).length - 1
    for (let i = 0; i < count; i++) arrivals.push(performance.now())
  }
  return arrivals
}

async function untilAborted(seen: Recorded | undefined): Promise<void> {
  expect(seen).toBeDefined()
  // A model that is not stopped would go on for twenty seconds.
  for (let i = 0; i < 2000 && seen?.wasAborted !== true; i++) await Bun.sleep(5)
  expect(seen?.wasAborted).toBe(true)
}

type Silence = { readonly path: string; readonly longestMs: number; readonly text: string }

function measureSilence(entrance: Entrance): Promise<Silence[]> {
  const streams = bothStreams(`[[slow ${prefillMs}]] patience`)
  return Promise.all(
    streams.map(async ([path, body]) => {
      let last = performance.now()
      let longestMs = 0
      let text = ''
      const response = await entrance.post(path, body)
      for await (const chunk of response.body!) {
        const now = performance.now()
        longestMs = Math.max(longestMs, now - last)
        last = now
        text += new TextDecoder().decode(chunk)
      }
      return { path, longestMs, text }
    }),
  )
}

async function restAndAskAgain(entrance: Entrance): Promise<void> {
  const client = entrance.openai()
  const ask = () => client.chat.completions.create(chat('again'))
  for (let i = 0; i < 200; i++) await ask()
  await Bun.sleep(idleMs)
  await ask()
  const { status } = await readAnswer(await entrance.post(chatPath, chat('and again')))
  expect(status).toBe(200)
}
