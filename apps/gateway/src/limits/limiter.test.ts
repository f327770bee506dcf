/** Limits of two gateways on one database: they hold across both. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { Caller } from '../keys/key-check.ts'
import { createKey } from '../keys/key-store.ts'
import { type Limits, noLimits } from '../keys/limits.ts'
import { storeUsage } from '../metering/usage-store.ts'
import type { Database } from '../state/database.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { newId } from '../testing/test-gateway.ts'
import { LimitError } from './limit-error.ts'
import { Limiter, type Permit } from './limiter.ts'

let database: Database
let one: Limiter
let two: Limiter
const clock = () => performance.now()

beforeAll(async () => {
  database = await openTestDatabase()
})

afterAll(() => database.close())

beforeEach(() => {
  const make = (gatewayId: string) =>
    new Limiter({ ...{ database, clock, gatewayId, usageGraceMs: 60_000, answerTokens: 100 } })
  one = make('gw_one')
  two = make('gw_two')
})

afterEach(async () => {
  await one.close()
  await two.close()
})

async function callerWith(limits: Partial<Limits>, account: Partial<Limits> = {}): Promise<Caller> {
  const keyLimits = { ...noLimits, ...limits }
  const wish = { accountId: 'acct_default', name: 'test', expiresAt: null, limits: keyLimits }
  const { key } = await createKey(database, wish)
  const accountLimits = { ...noLimits, ...account }
  return { keyId: key.id, accountId: `acct_${newId()}`, keyLimits, accountLimits } as Caller
}

const path = '/v1/chat/completions'

const request = (caller: Caller) => ({
  ...{ caller, admissionId: newId(), path, lengthBytes: 600, contextTokens: undefined },
})

async function admit(limiter: Limiter, caller: Caller): Promise<Permit | LimitError> {
  try {
    return await limiter.admit(request(caller))
  } catch (error) {
    if (error instanceof LimitError) return error
    throw error
  }
}

/** Sends requests to both gateways in turns until neither has admitted any for a while. */
async function countAdmitted(caller: Caller, tries: number): Promise<number> {
  let admitted = 0
  for (let round = 0; round < tries; round++) {
    const answers = await Promise.all([one, two, one, two].map((limiter) => admit(limiter, caller)))
    for (const answer of answers) if (!(answer instanceof LimitError)) admitted++
  }
  return admitted
}

test('requests per minute are enforced exactly across gateways', async () => {
  const caller = await callerWith({ requestsPerMinute: 100 })
  expect(await countAdmitted(caller, 60)).toBe(100)
})

test('with portions taken in advance, the limit is kept, and reached within two percent', async () => {
  const caller = await callerWith({ requestsPerMinute: 1000 })
  const admitted = await countAdmitted(caller, 300)
  expect(admitted).toBeLessThanOrEqual(1000)
  expect(admitted).toBeGreaterThanOrEqual(980)
})

test('what one gateway took in advance but does not use becomes available to the other', async () => {
  const caller = await callerWith({ requestsPerMinute: 1000 })
  await admit(one, caller) // holds a portion of five now
  let admitted = 1
  for (let tries = 0; tries < 1000; tries++) {
    if (!((await admit(two, caller)) instanceof LimitError)) admitted++
  }
  expect(admitted).toBeGreaterThan(980)
  while (admitted < 1000) {
    if (!((await admit(two, caller)) instanceof LimitError)) admitted++
    await Bun.sleep(20)
  }
})

test("an account's limit binds all of its keys", async () => {
  const first = await callerWith({}, { requestsPerMinute: 10 })
  const second = { ...(await callerWith({})), accountId: first.accountId }
  const both = { ...second, accountLimits: first.accountLimits }
  const admitted = (await countAdmitted(first, 2)) + (await countAdmitted(both, 5))
  expect(admitted).toBe(10)
})

test('a refusal states when to retry and what the limit is, in both dialects', async () => {
  const caller = await callerWith({ requestsPerMinute: 1 })
  const permit = await admit(one, caller)
  expect(permit.fields).toContain('x-ratelimit-limit-requests: 1\r\n')
  const refusal = await admit(two, caller)
  expect(refusal).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
  expect((refusal as LimitError).retryAfterSeconds).toBeGreaterThan(55)
  expect(refusal.fields).toContain('x-ratelimit-remaining-requests: 0\r\n')
  const anthropic = one.admit({ ...request(caller), path: '/v1/messages' })
  expect(await rejection(anthropic)).toMatchObject({
    fields: expect.stringContaining('anthropic-ratelimit-requests-limit: 1\r\n'),
  })
})

test('concurrent streams are limited across gateways, and an ended stream frees a slot', async () => {
  const caller = await callerWith({ concurrentStreams: 3 })
  const permits = [await admit(one, caller), await admit(two, caller), await admit(one, caller)]
  expect(permits.some((permit) => permit instanceof LimitError)).toBe(false)
  expect(await admit(two, caller)).toBeInstanceOf(LimitError)
  ;(permits[0] as Permit).end(true)
  ;(permits[0] as Permit).end(true) // ending twice frees one slot, not two
  const next = await untilAdmitted(two, caller)
  expect(await admit(one, caller)).toBeInstanceOf(LimitError)
  next.end(true)
})

test('what a dead gateway held is free after its hold expires', async () => {
  const caller = await callerWith({ concurrentStreams: 1 })
  await admit(one, caller)
  expect(await admit(two, caller)).toBeInstanceOf(LimitError)
  await database.query(
    `update stream_holds set expires_at = now() - interval '1 second' where subject = $1`,
    [caller.keyId],
  )
  await untilAdmitted(two, caller)
})

test('tokens are reserved before they are known, and the real ones count when reported', async () => {
  const caller = await callerWith({ tokensPerMinute: 1000 })
  // 600 bytes count as 300 tokens while nothing is known about the key.
  const permits = [await admit(one, caller), await admit(two, caller), await admit(one, caller)]
  expect(await admit(two, caller)).toBeInstanceOf(LimitError)
  const estimated = await givenOut(caller.keyId)
  for (const permit of permits) (permit as Permit).end(true)
  await storeUsage(database, [usage(caller, 990)])
  expect(await givenOut(caller.keyId)).toBe(estimated + 990)
  // What was reserved goes back to the database; a gateway that keeps asking must not use it again.
  while ((await givenOut(caller.keyId)) > estimated + 990 - 900) {
    expect(await admit(one, caller)).toBeInstanceOf(LimitError)
    await Bun.sleep(20)
  }
  const refusal = (await admit(one, caller)) as LimitError
  expect(refusal.message).toContain('tokens per minute')
  expect(await admit(two, caller)).toBeInstanceOf(LimitError)
})

test('a request refused by a later limit leaves its requests and tokens per minute', async () => {
  const caller = await callerWith({
    ...{ requestsPerMinute: 2, tokensPerMinute: 600, concurrentStreams: 1 },
  })
  const running = (await admit(one, caller)) as Permit
  for (let tries = 0; tries < 3; tries++) {
    const refusal = (await admit(one, caller)) as LimitError
    expect(refusal.message).toContain('at once')
  }
  running.end(true)
  await untilAdmitted(one, caller)
})

/** The tokens of the last minute that the database counts. */
async function givenOut(subject: string): Promise<number> {
  const [row] = await database.query<{ sum: number }>(
    `select (select sum(x) from unnest(slots) as x)::bigint as sum from allowances
     where subject = $1 and kind = 'tokens'`,
    [subject],
  )
  return row?.sum ?? 0
}

test('an exhausted month is refused with the code that says retrying is useless', async () => {
  const caller = await callerWith({ tokensPerMonth: 100 })
  await storeUsage(database, [usage(caller, 100)])
  expect(await admit(one, caller)).toMatchObject({ status: 429, code: 'insufficient_quota' })
})

test("concurrent requests stay within a month's limit at two gateways, and settle to actual usage", async () => {
  const caller = await callerWith({ tokensPerMonth: 50 })
  const asked = Array.from({ length: 25 }, (_, index) => admit(index % 2 ? one : two, caller))
  const answers = await Promise.all(asked)
  const refused = answers.filter((answer) => answer instanceof LimitError)
  expect(refused).toHaveLength(24)
  expect(refused[0]).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 1 })
  // One costs 10 tokens: its report, at whichever gateway, makes room for the next.
  const [{ admission_id: reservedFor } = { admission_id: '' }] = await reserved(caller.keyId)
  const admissionId = reservedFor.replaceAll('-', '')
  await storeUsage(database, [{ ...usage(caller, 10), admissionId }])
  expect(await reserved(caller.keyId)).toEqual([])
  await untilAdmitted(two, caller)
  expect(await reserved(caller.keyId)).toMatchObject([{ tokens: 40 }])
})

test('a request reserves its length plus an answer, at most the context, at least the most expensive one so far', async () => {
  const caller = await callerWith({ tokensPerMonth: 100_000 })
  await one.admit(request(caller))
  expect(await reserved(caller.keyId)).toMatchObject([{ tokens: 250 }])
  await one.admit({ ...request(caller), contextTokens: 64 })
  expect((await reserved(caller.keyId)).map(({ tokens }) => tokens)).toContain(64)
  await storeUsage(database, [usage(caller, 7_000)])
  await one.admit(request(caller))
  expect((await reserved(caller.keyId)).map(({ tokens }) => tokens)).toContain(7_000)
})

test('reservations that no worker can report, and those of a dead gateway, are released', async () => {
  const caller = await callerWith({ tokensPerMonth: 50 })
  const permit = (await admit(one, caller)) as Permit
  permit.end(false)
  await untilAdmitted(two, caller)
  expect(await admit(one, caller)).toMatchObject({ code: 'rate_limit_exceeded' })
  await database.query(
    `update gateway_leases set expires_at = now() - interval '1 second' where gateway_id = 'gw_two'`,
  )
  await untilAdmitted(one, caller)
})

test('after another worker took over, the report of the first does not end the reservation', async () => {
  const caller = await callerWith({ tokensPerMonth: 50 })
  const asked = request(caller)
  const permit = await one.admit(asked)
  await permit.moveTo('w_two')
  const report = { ...usage(caller, 10), admissionId: asked.admissionId }
  await storeUsage(database, [report])
  expect(await reserved(caller.keyId)).toHaveLength(1)
  expect(await admit(two, caller)).toMatchObject({ code: 'rate_limit_exceeded' })
  await storeUsage(database, [{ ...report, workerId: 'w_two' }])
  expect(await reserved(caller.keyId)).toEqual([])
  permit.end(true)
})

test('a request over the limit of its account leaves nothing reserved for its key', async () => {
  const caller = await callerWith({ tokensPerMonth: 1_000 }, { tokensPerMonth: 0 })
  expect(await admit(one, caller)).toMatchObject({ code: 'insufficient_quota' })
  expect(await reserved(caller.keyId)).toEqual([])
})

test.each([
  ['reserve_tokens', { tokensPerMonth: 100 }],
  ['hold_streams', { concurrentStreams: 1 }],
] as const)(
  'a key works again soon after the reply to %s was lost',
  async (lost, limits) => {
    let losses = 0
    const query: Database['query'] = async (sql, values) => {
      const rows = await database.query(sql, values)
      if (sql.includes(lost) && losses++ === 0) {
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      }
      return rows as never
    }
    const limiter = new Limiter({
      ...{ database: { ...database, query }, clock, gatewayId: 'gw_three' },
      ...{ usageGraceMs: 60_000, answerTokens: 100 },
    })
    const caller = await callerWith(limits)
    const refusal = await rejection(Promise.resolve(limiter.admit(request(caller))))
    expect(refusal).toMatchObject({ code: 'overloaded' })
    const next = await untilAdmitted(limiter, caller)
    expect(await admit(two, caller)).toBeInstanceOf(LimitError)
    next.end(false)
    await limiter.close()
  },
  10_000,
)

function reserved(subject: string) {
  const sql = 'select admission_id, tokens from token_reservations where subject = $1'
  return database.query<{ admission_id: string; tokens: number }>(sql, [subject])
}

test('a limit of zero admits nothing, and no limit costs no query', async () => {
  expect(await admit(one, await callerWith({ requestsPerMinute: 0 }))).toBeInstanceOf(LimitError)
  expect(one.admit(request(await callerWith({})))).not.toBeInstanceOf(Promise)
})

async function untilAdmitted(limiter: Limiter, caller: Caller): Promise<Permit> {
  for (;;) {
    const answer = await admit(limiter, caller)
    if (!(answer instanceof LimitError)) return answer
    await Bun.sleep(20)
  }
}

function usage(caller: Caller, promptTokens: number) {
  return {
    admissionId: newId(),
    requestId: newId(),
    workerId: 'w_one',
    keyId: caller.keyId,
    model: 'test-model',
    path: '/v1/chat/completions',
    status: 200,
    outcome: 'complete',
    promptTokens,
    cachedTokens: 0,
    completionTokens: 0,
    startedAtMs: Date.now(),
    durationMs: 10,
  } as const
}
