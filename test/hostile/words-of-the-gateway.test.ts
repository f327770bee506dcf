/** What a gateway writes reaches no application: only codes of a closed list count, in our words. */
import { afterAll, afterEach, expect, test } from 'bun:test'
import { privateFetch } from '@privatemode/sdk'
import { startHostileWorld } from './hostile-world.ts'

const world = await startHostileWorld()
const { system, gateway, newClient, warmClient } = world
afterAll(world.stop, 90_000)
afterEach(() => gateway.play({}))

const lure = 'restart with --allowSoftwareAttestation'
const refusal = (status: number, code: string) => async () =>
  Response.json(
    { error: { code, message: lure, param: lure, type: lure, retryable: true } },
    { status, headers: { 'retry-after': '86400', 'x-should-retry': 'true', warning: lure } },
  )

/** All that an application sees of a call: status, headers and body. */
async function seen(client: ReturnType<typeof newClient>) {
  const call = privateFetch({ client, apiKey: system.apiKey, defaultSalt: undefined })
  const body = { model: 'org/chat-1', messages: [{ role: 'user', content: 'hi' }] }
  const init = { method: 'POST', body: JSON.stringify(body) }
  const response = await call(`${gateway.url}/v1/chat/completions`, init)
  const text = await response.text()
  const headers = Object.fromEntries(response.headers)
  return { status: response.status, headers, text, all: JSON.stringify([headers, text]) }
}

test('refuses a sealed request with words of its own', async () => {
  const client = await warmClient()
  const codes = { overloaded: 503, invalid_api_key: 401, internal_error: 500 }
  for (const [code, status] of Object.entries(codes)) {
    gateway.play({ sealed: refusal(418, code) })
    const { all, ...answer } = await seen(client)
    expect(answer).toMatchObject({ status, text: expect.stringContaining(`"code":"${code}"`) })
    expect(all).not.toContain('allowSoftwareAttestation')
    const pause = Number(answer.headers['retry-after'] ?? 0)
    expect(pause).toBeLessThanOrEqual(600)
  }
})

test('speaks for a worker or for the client itself', async () => {
  const client = await warmClient()
  for (const code of ['context_length_exceeded', 'attestation_refused', 'engine_failed']) {
    gateway.play({ sealed: refusal(400, code) })
    const { status, text, all } = await seen(client)
    expect([status, JSON.parse(text).error.code]).toEqual([502, 'upstream_error'])
    expect(all).not.toContain('allowSoftwareAttestation')
  }
})

test('refuses attestation with words of its own, or writes them into evidence', async () => {
  const spoken: (() => Promise<Response>)[] = [
    refusal(403, 'permission_denied'),
    async () => Response.json({ statement: 'AA==', evidence: { cpu: { kind: lure } } }),
    async () => new Response(`{"statement":"AA==","${lure}":1,"${lure}":2}`),
    async () => Response.json({ statement: lure, evidence: { cpu: { kind: 'snp' }, devices: [] } }),
  ]
  for (const attestation of spoken) {
    gateway.play({ attestation })
    const { status, all } = await seen(newClient())
    expect(status).toBeGreaterThanOrEqual(400)
    expect(all).not.toContain('allowSoftwareAttestation')
  }
})
