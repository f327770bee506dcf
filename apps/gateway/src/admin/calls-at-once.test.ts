import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import { createMember } from '../members/member-store.ts'
import { beginSession } from '../members/session-store.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import type { AdminParts } from './admin-route.ts'
import { answerAdmin } from './admin-router.ts'
import { CallsAtOnce } from './calls-at-once.ts'
import { formatSessionCookie } from './session-cookie.ts'

test("each caller's concurrent calls are bounded separately", async () => {
  const atOnce = new CallsAtOnce(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  const running = [atOnce.run('mem_one', () => promise), atOnce.run('mem_one', () => promise)]
  const third = await atOnce.run('mem_one', () => promise).catch((error: unknown) => error)
  expect(third).toMatchObject({ code: 'rate_limit_exceeded' })
  expect(await atOnce.run('mem_two', async () => 'served')).toBe('served')
  resolve()
  await Promise.all(running)
  const failed = await atOnce
    .run('mem_one', () => Promise.reject(new Error('no')))
    .catch(() => 'failed')
  expect(failed).toBe('failed')
  expect(await atOnce.run('mem_one', async () => 'again')).toBe('again')
})

test('a streamed answer counts until it is read, fails or is cancelled', async () => {
  const atOnce = new CallsAtOnce(1)
  const failing = new ReadableStream<Uint8Array>({ pull: () => Promise.reject(new Error('no')) })
  const streamed = (body: string | ReadableStream<Uint8Array>) =>
    atOnce.run('mem_one', async () => new Response(body, { headers: { 'x-kind': 'export' } }))
  const isFree = () => atOnce.run('mem_one', async () => true).catch(() => false)
  const read = await streamed('one,two')
  expect([read.headers.get('x-kind'), await isFree()]).toEqual(['export', false])
  expect([await read.text(), await isFree()]).toEqual(['one,two', true])
  const cancelled = await streamed('one,two')
  expect(await isFree()).toBe(false)
  await cancelled.body?.cancel()
  expect(await isFree()).toBe(true)
  const failed = await streamed(failing)
  expect(await rejection(failed.text())).toBeInstanceOf(Error)
  expect(await isFree()).toBe(true)
})

test('the bound applies to members, not to the operator', async () => {
  const database = await openTestDatabase()
  const wish = { accountId: 'acct_default', name: 'm', role: 'member', passwordHash: null } as const
  const member = await createMember(database, { ...wish, email: 'm@example.org' })
  const { token } = await beginSession(database, member)
  const publicUrl = 'http://gateway.test'
  const atOnce = new CallsAtOnce(0)
  const parts = { database, publicUrl, atOnce, workers: () => [] } as unknown as AdminParts
  const ask = (headers: Record<string, string>) => {
    const request = new Request(`${publicUrl}/privatemode/v1/admin/models`, { headers })
    return answerAdmin(request, '/models', '127.0.0.1', parts, () => {})
  }
  const cookie = formatSessionCookie(token, publicUrl)
  const refused = await ask({ cookie }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'rate_limit_exceeded' })
  expect((await ask({ authorization: 'Bearer token' })).status).toBe(200)
  await database.close()
})
