import { expect, test } from 'bun:test'
import { AttestationError } from '@privatemode/attestation'
import { ApiError } from '@privatemode/protocol/api'
import { thrown } from '../../../test/rejection.ts'
import type { Answer } from './answer.ts'
import type { PrivateClient } from './client.ts'
import { privateFetch } from './private-fetch.ts'
import type { Call } from './sealed-exchange.ts'

const calls: Call[] = []
const client = {
  endpoint: 'https://gateway.example/base',
  async exchange(call: Call) {
    calls.push(call)
    const whole = async () => new TextEncoder().encode('{"ok":true}')
    const head = { status: 200, headers: { 'content-type': 'application/json' } }
    return { requestId: 'r1', head, whole } as unknown as Answer
  },
} as unknown as PrivateClient
const failing = (error: Error) =>
  ({ ...client, exchange: () => Promise.reject(error) }) as unknown as PrivateClient

const fetchOf = (given: PrivateClient, apiKey: string | undefined = 'pm_own') =>
  privateFetch({ client: given, apiKey, defaultSalt: undefined })
const post = (over: RequestInit = {}): RequestInit => ({
  method: 'POST',
  body: '{"model":"m","messages":[]}',
  ...over,
})

test.each([
  'https://gateway.example/base/v1/messages',
  'https://gateway.example/base/v1/v1/messages',
  'https://gateway.example/v1/messages?beta=true',
  'https://elsewhere.example/v1/messages',
])('%s maps to the same API path, sealed to the same endpoint', async (url) => {
  calls.length = 0
  const response = await fetchOf(client)(url, post())
  expect(response.status).toBe(200)
  expect(calls.map(({ path, model }) => [path, model])).toEqual([['/v1/messages', 'm']])
})

test('anything but an API call is never sent', async () => {
  calls.length = 0
  const fetch = fetchOf(client)
  expect((await fetch('https://gateway.example/base/v1/files')).status).toBe(404)
  expect((await fetch('https://gateway.example/base/v1/messages')).status).toBe(405)
  expect((await fetch('https://gateway.example/basement/v1/messages', post())).status).toBe(404)
  expect(calls).toEqual([])
})

test('the body says which model, whether to stream and which salt; nothing is sent if it cannot', async () => {
  calls.length = 0
  const send = async (body: string | Uint8Array<ArrayBuffer>) => {
    const response = await fetchOf(client)(
      'https://gateway.example/base/v1/messages',
      post({ body }),
    )
    const { error } = (await response.json()) as { error?: { message: string } }
    return `${response.status} ${error?.message ?? ''}`
  }
  expect(await send('{"model":"m","stream":null,"cache_salt":"s","x":[1]}')).toBe('200 ')
  expect(calls).toMatchObject([{ model: 'm', stream: false, cacheSalt: 's' }])
  expect(await send('{"model":"m"')).toBe('400 body is not valid JSON')
  expect(await send(Uint8Array.of(0x22, 0xff, 0x22))).toBe('400 body is not valid JSON')
  for (const body of ['["m"]', 'null', '7', '{"model":null}', '{"model":7}']) {
    expect(await send(body)).toBe('400 the request names no model')
  }
  expect(calls.length).toBe(1)
})

test('only allow-listed headers are sealed with the call; the key in a header wins', async () => {
  calls.length = 0
  const headers = {
    'anthropic-version': '2023-06-01',
    'x-api-key': 'pm_given',
    'x-workspace': '/home/someone',
    cookie: 'a=b',
  }
  await fetchOf(client)('https://gateway.example/base/v1/messages', post({ headers }))
  expect(calls[0]?.headers).toEqual({ 'anthropic-version': '2023-06-01' })
  expect(calls[0]?.apiKey).toBe('pm_given')
})

test('a refusal is a response in the dialect of the path that forbids a retry', async () => {
  const refused = failing(new AttestationError('measurement_unknown', 'snp/measurement: seen a'))
  const openai = await fetchOf(refused)('https://g.example/v1/chat/completions', post())
  expect(openai.status).toBe(502)
  expect(openai.headers.get('x-should-retry')).toBe('false')
  expect(await openai.json()).toMatchObject({ error: { code: 'attestation_refused' } })
  const anthropic = await fetchOf(refused)('https://g.example/v1/messages', post())
  expect(await anthropic.json()).toMatchObject({ type: 'error' })
})

test('API errors become responses, and an abort stays an abort', async () => {
  const busy = failing(new ApiError('overloaded', 'later', { retryAfterSeconds: 7 }))
  const response = await fetchOf(busy)('https://g.example/v1/chat/completions', post())
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7'])
  const aborted = failing(new DOMException('stop', 'AbortError') as unknown as Error)
  const attempt = fetchOf(aborted)('https://g.example/v1/chat/completions', post())
  expect(await thrown(attempt)).toThrow('stop')
})

test('a call without a key or without a model is refused locally', async () => {
  calls.length = 0
  const url = 'https://g.example/v1/chat/completions'
  const keyless = privateFetch({ client, apiKey: undefined, defaultSalt: undefined })
  expect((await keyless(url, post())).status).toBe(401)
  expect((await fetchOf(client)(url, post({ body: '{}' }))).status).toBe(400)
  expect(calls).toEqual([])
})

test('every form of call that fetch accepts results in the same call', async () => {
  calls.length = 0
  const url = 'https://gateway.example/base/v1/messages'
  const body = '{"model":"m","messages":["ü"]}'
  const headers = { 'x-api-key': 'pm_given', 'anthropic-beta': 'b' }
  const fetch = fetchOf(client)
  await fetch(url, post({ body, headers }))
  await fetch(new URL(url), { method: 'post', body, headers: new Headers(headers) })
  await fetch(url, post({ body: new TextEncoder().encode(body), headers }))
  await fetch(url, post({ body: new Blob([body]), headers }))
  await fetch(new Request(url, post({ body, headers })))
  await fetch(new Request(url, post({ body: '{}', headers })), { body })
  expect(calls.length).toBe(6)
  for (const call of calls) expect(call).toEqual(calls[0]!)
  expect(new TextDecoder().decode(calls[0]?.body)).toBe(body)
})

test.each(['authorization', 'x-api-key'])(
  'a key in %s that no gateway could have issued is refused without being quoted',
  async (name) => {
    calls.length = 0
    for (const key of ['pm_a b', 'pm_ä', `pm_${'a'.repeat(510)}`]) {
      const headers = { [name]: name === 'authorization' ? `Bearer ${key}` : key }
      const url = 'https://gateway.example/base/v1/chat/completions'
      const response = await fetchOf(client)(url, post({ headers }))
      expect(response.status).toBe(401)
      expect(await response.text()).not.toContain('pm_')
    }
    expect(calls).toEqual([])
  },
)
