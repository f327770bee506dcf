/** An unresponsive worker's requests go elsewhere or end, long before the first-byte timeout. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ScriptedWorker, scriptedWorker, sealedHeaders } from '../testing/scripted-worker.ts'
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts'

let gateway: TestGateway
let still: ScriptedWorker
let other: ScriptedWorker
let secret: string

beforeAll(async () => {
  const args = ['--leaseSeconds', '1', '--lostWorkerMs', '300', '--firstByteTimeoutMs', '600000']
  gateway = await startTestGateway({ args })
  secret = (await gateway.createKey()).secret
  still = scriptedWorker('w_still')
  other = scriptedWorker('w_other')
  await gateway.register(still)
  await gateway.register(other)
})

afterAll(async () => {
  await gateway.stop()
  await Promise.all([still.stop(), other.stop()])
})

test('a request without a byte is sent to another worker, an answer in progress is cut, and it is logged', async () => {
  still.answer = (_request, body) =>
    body.length === 1
      ? new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
          }),
          { headers: sealedHeaders },
        )
      : new Promise(() => undefined)
  const begun = await gateway.seal(secret, ['w_still'], { body: '1' })
  const reading = begun.text().then(
    () => 'ended well',
    () => 'cut',
  )
  const waiting = gateway.seal(secret, ['w_still', 'w_other'], { body: 'sealed bytes' })
  const alone = gateway.seal(secret, ['w_still'], { body: 'sealed bytes' })
  expect(await (await waiting).text()).toBe('w_other answers sealed bytes')
  expect(await reading).toBe('cut')
  const refused = await alone
  expect(refused.status).toBe(502)
  expect(await refused.json()).toMatchObject({
    error: { code: 'worker_unreachable', retryable: true },
  })
  expect(gateway.logLines.join('')).toContain('worker is unresponsive; aborted its requests')
}, 240_000)
