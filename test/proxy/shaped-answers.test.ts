import { afterAll, expect, test } from 'bun:test'
import { startRecordingRelay } from '../blindness/recording-relay.ts'
import { startSystem } from '../e2e/system.ts'
import { startProxy } from './proxy-process.ts'

const system = await startSystem()
const relay = startRecordingRelay(system.gatewayUrl)
const shaped = (shape: string) =>
  startProxy(system, {
    args: ['--apiEndpoint', relay.url, '--trafficShape', shape, '--apiKey', system.apiKey],
  })
const proxy = await shaped('default')

afterAll(async () => {
  await proxy.stop()
  relay.stop()
  await system.stop()
})

test('an application has its complete answer while padding still arrives', async () => {
  const body = { model: 'org/chat-1', stream: true, messages: [{ role: 'user', content: 'hi' }] }
  const response = await fetch(`${proxy.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect((await response.text()).endsWith('data: [DONE]\n\n')).toBe(true)
  const seen = relay.bytes().length
  const deadline = Date.now() + 30_000
  while (relay.bytes().length < seen + 10 * 1024 && Date.now() < deadline) await Bun.sleep(20)
  expect(relay.bytes().length).toBeGreaterThan(seen + 10 * 1024)
})

test('an application that closes its connection at the last event does not cut the padding', async () => {
  const before = relay.bytes().length
  const gone = new AbortController()
  const response = await fetch(`${proxy.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'org/chat-1', stream: true },
      messages: [{ role: 'user', content: 'hi' }],
    }),
    signal: gone.signal,
  })
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (text.includes('[DONE]')) break
  }
  gone.abort()
  const whole = before + 32 * 1024
  const deadline = Date.now() + 30_000
  while (relay.bytes().length < whole && Date.now() < deadline) await Bun.sleep(20)
  expect(relay.bytes().length).toBeGreaterThanOrEqual(whole)
})
