import { expect, test } from 'bun:test'
import { httpProbe } from './cache-probe.ts'

const probe = { prompt: 'secret words', salt: 's'.repeat(32), otherKey: false }
const { signal } = new AbortController()

const events = (...data: unknown[]) =>
  data.map((one) => `data: ${typeof one === 'string' ? one : JSON.stringify(one)}\n\n`).join('')
const role = { choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }] }
const word = { choices: [{ delta: { content: 'a' }, finish_reason: null }] }
const end = { choices: [{ delta: {}, finish_reason: 'length' }] }
const usage = {
  choices: [],
  usage: { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } },
}

function ask(respond: (init: RequestInit) => Response | Promise<Response>, timeoutMs = 20_000) {
  const fetch = async (_url: string, init: RequestInit) => respond(init)
  const target = { url: 'http://x/', model: 'm', apiKey: 'k1', otherApiKey: 'k2', fetch }
  return httpProbe({ ...target, timeoutMs })
}

test('reads the counts, and requests one token with the salt and the key', async () => {
  const sent: RequestInit[] = []
  const asked = ask((init) => {
    sent.push(init)
    return new Response(events(role, word, end, usage, '[DONE]'))
  })
  const seen = await asked(probe, signal)
  expect(seen).toMatchObject({ promptTokens: 9, cachedTokens: 4 })
  await asked({ ...probe, salt: undefined, otherKey: true }, signal)
  const bodies = sent.map(({ body }) => JSON.parse(String(body)))
  expect(bodies[0]).toMatchObject({ cache_salt: probe.salt, max_tokens: 1, stream: true })
  expect(bodies[1]).not.toHaveProperty('cache_salt')
  const keys = sent.map(({ headers }) => (headers as Record<string, string>).authorization)
  expect(keys).toEqual(['Bearer k1', 'Bearer k2'])
})

test('the first token is the first text or the end, not the role sent before the prompt was processed', async () => {
  for (const first of [word, end]) {
    // Created on demand: a body older than the request might already be past its pause.
    const body = () =>
      new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(events(role)))
          await Bun.sleep(40)
          controller.enqueue(new TextEncoder().encode(events(first, '[DONE]')))
          controller.close()
        },
      })
    const { firstTokenMs, cachedTokens } = await ask(() => new Response(body()))(probe, signal)
    expect(firstTokenMs).toBeGreaterThan(30)
    expect(cachedTokens).toBeUndefined()
  }
})

test.each([
  ['a refusal', () => Response.json({ error: { code: 'invalid_api_key' } }, { status: 401 }), 401],
  ['an error event', () => new Response(events(role, { error: { message: 'it broke' } })), 502],
  ['no token', () => new Response(events(role, '[DONE]')), 502],
  ['an event that is not JSON', () => new Response(events('secret words')), 502],
  ['no end', () => new Response('data: {}\n\n'.repeat(200_000)), 502],
  ['no connection', () => Promise.reject(new TypeError('secret words')), 502],
])('%s is an error that quotes nothing', async (_name, respond, status) => {
  const failure = await ask(respond)(probe, signal).catch((error) => error)
  expect(failure).toMatchObject({ name: 'ApiError', status })
  expect(failure.message).not.toContain('secret')
})

test('a silent backend times out, and an abort keeps the caller’s reason', async () => {
  const never = (init: RequestInit) =>
    new Promise<Response>((_resolve, reject) => {
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  expect(await ask(never, 100)(probe, signal).catch((error) => error.code)).toBe('timeout')
  const given = new AbortController()
  const asked = ask(never)(probe, given.signal)
  given.abort('enough')
  expect(await asked.catch((reason) => reason)).toBe('enough')
})
