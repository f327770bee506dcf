import { expect, test } from 'bun:test'
import { createLog } from '@privatemode/service'
import { type WorkerApp, workerHandler } from './app.ts'

const statement = new TextEncoder().encode('{}')
const log = createLog({ format: 'json', level: 8, write: () => {} })

function handlerWith(produce: () => Promise<never>) {
  const service = { keys: { current: async () => ({ statement }) } }
  const evidence = { description: 'none', produce }
  const app = { service, evidence, log, maxBodyBytes: 1024, attestAtOnce: 2 }
  return workerHandler(app as unknown as WorkerApp)
}

const attest = (body: string) =>
  new Request('http://worker/privatemode/v1/attestation', { method: 'POST', body })
const nonce = JSON.stringify({ nonce: 'ab'.repeat(32) })

test('only so many attestations are made at once; more are told to come back', async () => {
  const handle = handlerWith(() => new Promise<never>(() => {}))
  void handle(attest(nonce))
  void handle(attest(nonce))
  const third = await handle(attest(nonce))
  expect(third.status).toBe(503)
  expect(third.headers.get('retry-after')).toBe('1')
})

test('a nonce that is not 32 bytes in hex is refused', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  for (const body of [
    '',
    '{}',
    '{"nonce":1}',
    '{"nonce":"ab"}',
    `{"nonce":"${'AB'.repeat(32)}"}`,
  ]) {
    const response = await handle(attest(body))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'malformed' } })
  }
})

test('an unforeseen failure says nothing of its cause', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('secret detail')))
  const response = await handle(attest(nonce))
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('secret detail')
})

test('other paths, methods and oversize bodies are refused', async () => {
  const handle = handlerWith(() => Promise.reject(new Error('not asked')))
  expect((await handle(new Request('http://worker/elsewhere', { method: 'POST' }))).status).toBe(
    404,
  )
  expect((await handle(new Request('http://worker/privatemode/v1/sealed'))).status).toBe(404)
  expect((await handle(attest('x'.repeat(2000)))).status).toBe(413)
  expect((await handle(new Request('http://worker/health'))).status).toBe(200)
})
