import { expect, test } from 'bun:test'
import type { HttpExchange } from '@privatemode/http'
import { findRoute } from '@privatemode/protocol/api'
import type { App } from '../app-state.ts'
import { RequestRecord } from '../inbound/request-record.ts'
import { sendSealed } from './send-sealed.ts'

const chat = findRoute('POST', '/v1/chat/completions')

/** Sends bodies that are complete at the same time; returns when they were sealed. */
async function sealedTogether(bytes: number): Promise<string[]> {
  if (chat.kind !== 'found') throw new Error('no such route')
  const steps: string[] = []
  const ended = Promise.withResolvers<void>()
  const stop = new Error('far enough')
  const begin = () => {
    steps.push('sealed')
    throw stop
  }
  const app = { bodyLimitBytes: 1e9, defaultSalt: () => undefined, client: { begin } }
  const body = Buffer.from(JSON.stringify({ model: 'm', padding: 'x'.repeat(bytes) }))
  const errors: unknown[] = []
  const look = () => {
    steps.push('others')
    if (errors.length < 4) setImmediate(look)
    else ended.resolve()
  }
  setImmediate(look)
  for (let count = 0; count < 4; count++) {
    const exchange = {
      head: { fields: new Map([['authorization', 'Bearer key']]) },
      body: { whole: () => ({ bytes: body, start: 0, end: body.length }) },
      invite: () => {},
    }
    sendSealed(
      app as unknown as App,
      exchange as unknown as HttpExchange,
      chat.route,
      new RequestRecord('r', 'POST', chat.route.path),
      (error) => errors.push(error),
    )
  }
  await ended.promise
  expect(errors).toEqual([stop, stop, stop, stop])
  return steps
}

test('others are served between long bodies that are complete at the same time', async () => {
  const text = (await sealedTogether(100_000)).join(' ')
  expect(text).not.toContain('sealed sealed')
})

test('short bodies are sealed at once', async () => {
  const steps = await sealedTogether(1000)
  expect(steps.slice(0, 4)).toEqual(['sealed', 'sealed', 'sealed', 'sealed'])
})

test('what a compressed body takes once it is decoded is reserved first', async () => {
  if (chat.kind !== 'found') throw new Error('no such route')
  const bytes = Buffer.from(Bun.gzipSync(Buffer.alloc(5000, 'x')))
  const reserved: number[] = []
  const full = new Error('full')
  const reserve = (count: number) => {
    reserved.push(count)
    throw full
  }
  const fields = new Map([
    ['content-encoding', 'gzip'],
    ['authorization', 'Bearer key'],
  ])
  const exchange = {
    head: { fields },
    body: { whole: () => ({ bytes, start: 0, end: bytes.length }), reserve },
    invite: () => {},
  }
  const { promise, resolve } = Promise.withResolvers<unknown>()
  sendSealed(
    { bodyLimitBytes: 1e6 } as unknown as App,
    exchange as unknown as HttpExchange,
    chat.route,
    new RequestRecord('r', 'POST', chat.route.path),
    resolve,
  )
  expect(await promise).toBe(full)
  expect(reserved).toEqual([5000])
})
