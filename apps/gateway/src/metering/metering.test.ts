/** Metering against the embedded database, with real signatures. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sign } from 'node:crypto'
import { type SignedUsage, usageReportText } from '@privatemode/protocol/fleet'
import { createKey } from '../keys/key-store.ts'
import { noLimits } from '../keys/limits.ts'
import type { Database } from '../state/database.ts'
import { type ScriptedWorker, scriptedWorker } from '../testing/scripted-worker.ts'
import { admittedRecord, receiptKeyPair, signUsage } from '../testing/signed-usage.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import {
  newId,
  type SealOptions,
  startTestGateway,
  type TestGateway,
} from '../testing/test-gateway.ts'
import { type Outcome, parseUsageRecord, type UsageRecord } from './usage-record.ts'
import { storeUsage } from './usage-store.ts'

const key = receiptKeyPair()
let gateway: TestGateway
let worker: ScriptedWorker
let apiKey: { id: string; secret: string }

beforeAll(async () => {
  gateway = await startTestGateway({ args: ['--leaseSeconds', '600'] })
  apiKey = await gateway.createKey()
  worker = scriptedWorker('w_one', key.publicKey)
  await gateway.register(worker)
})

afterAll(async () => {
  await worker.stop()
  await gateway.stop()
})

/** What the worker would report about a request just relayed to it. */
const admitted = (changes: Record<string, unknown> = {}, options: SealOptions = {}) =>
  admittedRecord(gateway, worker, apiKey, changes, options)

const report = async (...records: unknown[]) => {
  const response = await gateway.operate('POST', 'registry/usage', { records })
  return { status: response.status, ...((await response.json()) as object) }
}

test('a signed record is accepted, and again when it is repeated', async () => {
  const signed = signUsage(key, await admitted())
  expect(await report(signed)).toMatchObject({ status: 200, accepted: 1, rejected: 0 })
  expect(await report(signed)).toMatchObject({ status: 200, accepted: 1, rejected: 0 })
})

test('a record is refused if one bit of it, of the digest or of the signature changes', async () => {
  const signed = signUsage(key, await admitted())
  const flip = (base64: string) => {
    const bytes = Buffer.from(base64, 'base64')
    bytes[20] = (bytes[20] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const otherDigest = `${signed.rest_digest.slice(0, -1)}${signed.rest_digest.endsWith('0') ? '1' : '0'}`
  expect(await report({ ...signed, record: flip(signed.record) })).toMatchObject({ rejected: 1 })
  expect(await report({ ...signed, signature: flip(signed.signature) })).toMatchObject({
    rejected: 1,
  })
  expect(await report({ ...signed, rest_digest: otherDigest })).toMatchObject({ rejected: 1 })
})

test('a report that its worker signed as a whole is accepted, however its records are signed', async () => {
  const records = [signUsage(key, await admitted()), signUsage(key, await admitted())]
  const [first, second] = records as [SignedUsage, SignedUsage]
  const unsigned = { ...second, signature: first.signature }
  const counts = async (body: object) =>
    (await gateway.operate('POST', 'registry/usage', body)).json()
  const signed = (of: readonly SignedUsage[], by = key) => ({
    ...{ records: of, signature: sign(null, Buffer.from(usageReportText(of)), by.privateKey) },
  })
  const wire = ({ records, signature }: ReturnType<typeof signed>) => ({
    ...{ records, signature: signature.toString('base64') },
  })
  // Without a valid signature over exactly these records, each is judged by its own.
  const whole = wire(signed([first, unsigned]))
  for (const body of [
    { records: [first, unsigned] },
    { ...whole, records: [unsigned, first] },
    { ...whole, records: [first, { ...unsigned, rest_digest: '0'.repeat(64) }] },
    { ...whole, signature: wire(signed([first])).signature },
    { ...whole, signature: first.signature },
    { ...whole, signature: 1 },
    wire(signed([first, unsigned], receiptKeyPair())),
  ]) {
    expect(await counts(body)).toEqual({ accepted: 1, rejected: 1 })
  }
  expect(await counts({ ...whole, records: [first, unsigned, {}] })).toEqual({
    ...{ accepted: 1, rejected: 2 },
  })
  expect(await counts(whole)).toEqual({ accepted: 2, rejected: 0 })
})

test('the signature of a report does not cover records of another worker', async () => {
  const other = scriptedWorker('w_three', receiptKeyPair().publicKey)
  await gateway.register(other)
  const foreign = signUsage(key, await admittedRecord(gateway, other, apiKey))
  await other.stop()
  const records = [signUsage(key, await admitted()), foreign]
  const message = Buffer.from(usageReportText(records))
  const signature = sign(null, message, key.privateKey).toString('base64')
  const response = await gateway.operate('POST', 'registry/usage', { records, signature })
  expect(await response.json()).toEqual({ accepted: 1, rejected: 1 })
})

test("another worker's key cannot sign for this worker", async () => {
  const other = receiptKeyPair()
  const second = scriptedWorker('w_two', other.publicKey)
  await gateway.register(second)
  await second.stop()
  expect(await report(signUsage(other, await admitted()))).toMatchObject({
    accepted: 0,
    rejected: 1,
  })
})

test('a worker that restarted can still report what it signed before', async () => {
  const before = await admitted()
  const renewed = receiptKeyPair().publicKey
  await gateway.register(worker, { receipt_key: Buffer.from(renewed).toString('base64') })
  expect(await report(signUsage(key, before))).toMatchObject({ accepted: 1 })
})

test('one bad record does not hold up the good ones', async () => {
  const good = signUsage(key, await admitted())
  const otherKey = signUsage(key, await admitted({ key_ref: 'key_nobody' }))
  const nonsense = { record: 'x', rest_digest: 'y', signature: 'z' }
  const negative = signUsage(key, await admitted({ prompt_tokens: -1 }))
  expect(await report(good, otherKey, nonsense, negative)).toMatchObject({
    status: 200,
    accepted: 1,
    rejected: 3,
  })
})

test('a report is a list of bounded length', async () => {
  const many = Array.from({ length: 1001 }, () => 'x')
  for (const records of [many, 'all', { length: 1 }]) {
    const response = await gateway.operate('POST', 'registry/usage', { records })
    expect(response.status).toBe(400)
  }
  expect(await report(...many.slice(1))).toMatchObject({ status: 200, rejected: 1000 })
})

test('reporting needs the register token', async () => {
  const response = await fetch(`${gateway.gateway.url}/privatemode/v1/registry/usage`, {
    method: 'POST',
    headers: { authorization: 'Bearer something-else' },
    body: '{"records":[]}',
  })
  expect(response.status).toBe(401)
})

const sumsSql = `select outcome, path, sum(requests)::int as requests, sum(prompt_tokens)::int as prompt,
  sum(cached_tokens)::int as cached, sum(completion_tokens)::int as completion,
  sum(up_to_300_ms)::int as quick from usage_hourly where key_id = $1
  group by 1, 2 having sum(requests) <> 0 order by 1, 2`
const rowsSql = `select outcome, path, count(*)::int as requests, sum(prompt_tokens)::int as prompt,
  sum(cached_tokens)::int as cached, sum(completion_tokens)::int as completion,
  (count(*) filter (where duration_ms <= 300))::int as quick from usage where key_id = $1
  group by 1, 2 order by 1, 2`

async function withKey(work: (database: Database, record: MakeRecord) => Promise<void>) {
  const database = await openTestDatabase()
  const wish = { accountId: 'acct_default', name: 'test', expiresAt: null, limits: noLimits }
  const { key: made } = await createKey(database, wish)
  const record: MakeRecord = (outcome, changes = {}) => ({
    admissionId: newId(),
    requestId: newId(),
    workerId: 'w_one',
    keyId: made.id,
    model: 'test-model',
    path: '/v1/chat/completions',
    status: 200,
    outcome,
    promptTokens: 10,
    cachedTokens: 4,
    completionTokens: 5,
    startedAtMs: Date.now(),
    durationMs: 200,
    ...changes,
  })
  try {
    await work(database, record)
    expect(await database.query(sumsSql, [made.id])).toEqual(
      await database.query(rowsSql, [made.id]),
    )
  } finally {
    await database.close()
  }
}
type MakeRecord = (outcome: Outcome, changes?: Partial<UsageRecord>) => UsageRecord

test('the better report about an admission is kept, in whatever order reports arrive, and sums agree', async () => {
  await withKey(async (database, record) => {
    for (const outcomes of [
      ['lost', 'complete'],
      ['complete', 'lost'],
      ['aborted', 'complete', 'aborted'],
      ['lost', 'failed', 'aborted'],
      ['complete', 'complete'],
    ] as const) {
      const admissionId = newId()
      for (const outcome of outcomes) {
        const promptTokens = outcome === 'lost' ? 0 : 10
        const cachedTokens = outcome === 'lost' ? 0 : 4
        const completionTokens = outcome === 'lost' ? 0 : 5
        await storeUsage(database, [
          record(outcome, { admissionId, promptTokens, cachedTokens, completionTokens }),
        ])
      }
      const rows = await database.query('select outcome from usage where admission_id = $1', [
        admissionId,
      ])
      const best = ['complete', 'aborted', 'failed', 'lost'].find((each) =>
        outcomes.includes(each as never),
      )
      expect(rows).toEqual([{ outcome: best }])
    }
  })
})

test('two reports about one admission in one batch count once', async () => {
  await withKey(async (database, record) => {
    const admissionId = newId()
    const batch = [record('aborted', { admissionId }), record('complete', { admissionId })]
    expect(await storeUsage(database, [...batch, ...batch])).toEqual({ stored: 1, unknown: 0 })
  })
})

test('sums agree with rows over many hours, models and batches that overlap', async () => {
  await withKey(async (database, record) => {
    const all = Array.from({ length: 300 }, (_, index) =>
      record(index % 3 === 0 ? 'aborted' : 'complete', {
        startedAtMs: Date.UTC(2026, 9, 31, 20) + index * 120_000,
        durationMs: index * 7,
        model: `model-${index % 2}`,
      }),
    )
    await storeUsage(database, all.slice(0, 200))
    await Promise.all([
      storeUsage(database, all.slice(100)),
      storeUsage(database, all.slice(50, 250)),
    ])
    const months = await database.query(
      `select month::text, tokens from usage_monthly where subject = 'acct_default' order by month`,
    )
    expect(months).toEqual([
      { month: '2026-10-01', tokens: 120 * 15 },
      { month: '2026-11-01', tokens: 180 * 15 },
    ])
  })
})

test('tokens reported after a long padding count against limits per minute, those of long ago do not', async () => {
  await withKey(async (database, record) => {
    await database.query('update api_keys set tokens_per_minute = 1000')
    const minuteMs = 60_000
    const booked = async (ageMs: number, durationMs: number) => {
      const usage = record('complete', { startedAtMs: Date.now() - ageMs, durationMs })
      await storeUsage(database, [usage])
      const sql = `select (select sum(slot) from unnest(slots) as slot)::int as tokens
        from allowances where kind = 'tokens'`
      return ((await database.query(sql))[0] as { tokens: number } | undefined)?.tokens ?? 0
    }
    expect(await booked(12 * minuteMs, 100)).toBe(0)
    expect(await booked(9 * minuteMs, 100)).toBe(15)
    expect(await booked(45 * minuteMs, 11 * minuteMs)).toBe(30)
  })
})

test('usage of the messages endpoint is booked as uncached', async () => {
  const path = '/v1/messages'
  const record = await admitted({ path }, { headers: { 'privatemode-path': path } })
  expect(await report(signUsage(key, record))).toMatchObject({ accepted: 1 })
  expect(parseUsageRecord(Buffer.from(JSON.stringify(record)))).toMatchObject({
    promptTokens: 10,
    cachedTokens: 0,
  })
})

test('a report that counts for less never replaces one that counts for more', async () => {
  await withKey(async (database, record) => {
    const admissionId = newId()
    const tokens = async () => {
      const sql = 'select outcome, completion_tokens as tokens from usage where admission_id = $1'
      return database.query(sql, [admissionId])
    }
    await storeUsage(database, [record('aborted', { admissionId, completionTokens: 100 })])
    await storeUsage(database, [record('complete', { admissionId, completionTokens: 1 })])
    expect(await tokens()).toEqual([{ outcome: 'aborted', tokens: 100 }])
    const both = [1, 200, 3].map((completionTokens) =>
      record('complete', { admissionId, completionTokens }),
    )
    await storeUsage(database, both)
    expect(await tokens()).toEqual([{ outcome: 'complete', tokens: 200 }])
  })
})

test('requests with the same request id are billed individually, and count against limits per minute', async () => {
  const limited = await gateway.createKey('limited', { limits: { tokens_per_minute: 10_000 } })
  const requestId = newId()
  const tokens = { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 90 }
  for (let turn = 0; turn < 3; turn++) {
    const record = await admittedRecord(gateway, worker, limited, tokens, { requestId })
    expect(await report(signUsage(key, record))).toMatchObject({ accepted: 1 })
  }
  const range = 'from=2020-01-01&to=2100-01-01'
  const sums = await gateway.operate('GET', `admin/usage?${range}&key=${limited.id}&step=all`)
  expect(await sums.json()).toMatchObject({
    rows: [{ requests: 3, prompt_tokens: 30, completion_tokens: 270 }],
  })
  const list = await gateway.operate('GET', `admin/usage/requests?${range}&key=${limited.id}`)
  const { requests } = (await list.json()) as { requests: { request_id: string }[] }
  expect(requests.map((row) => row.request_id)).toEqual([requestId, requestId, requestId])
})

test('only admitted requests are billed: for their own key, worker, model, path and request id', async () => {
  const other = await gateway.createKey('other')
  const elsewhere = scriptedWorker('w_elsewhere', key.publicKey)
  await gateway.register(elsewhere)
  await elsewhere.stop()
  const never = { admission: newId() + newId() }
  for (const changes of [
    never,
    { key_ref: other.id },
    { worker_id: elsewhere.id },
    { model: 'another-model' },
    { path: '/v1/embeddings' },
    { request_id: newId() },
  ]) {
    const record = await admitted(changes)
    expect([changes, await report(signUsage(key, record))]).toMatchObject([
      changes,
      { rejected: 1 },
    ])
  }
})

test("the billed month is that of the admission, whatever the worker's clock", async () => {
  const fresh = await gateway.createKey('clock')
  const record = await admittedRecord(gateway, worker, fresh, { started_at: 1 })
  expect(await report(signUsage(key, record))).toMatchObject({ accepted: 1 })
  const from = new Date(Date.now() - 3_600_000).toISOString()
  const list = await gateway.operate(
    'GET',
    `admin/usage/requests?from=${from}&to=2100-01-01&key=${fresh.id}`,
  )
  expect(((await list.json()) as { requests: unknown[] }).requests).toHaveLength(1)
})
