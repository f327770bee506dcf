/** What the stages of a small chat cost the gateway, from the request to the booked usage. */
import { rmSync } from 'node:fs'
import type { UsageRecord as WireRecord } from '@privatemode/protocol/fleet'
import { createLog } from '@privatemode/service'
import { hashApiKey } from '../../apps/gateway/src/keys/api-key.ts'
import { Admissions, admittedAtMs } from '../../apps/gateway/src/metering/admissions.ts'
import { ExpectedUsage } from '../../apps/gateway/src/metering/expected-usage.ts'
import {
  parseSignedRecord,
  parseSignedUsage,
  reportMessage,
  type UsageRecord,
} from '../../apps/gateway/src/metering/usage-record.ts'
import { storeUsage } from '../../apps/gateway/src/metering/usage-store.ts'
import { readSealedHead } from '../../apps/gateway/src/relay/sealed-head.ts'
import { signRelay } from '../../apps/gateway/src/relay/sign-relay.ts'
import type { Database } from '../../apps/gateway/src/state/database.ts'
import { openDatabase } from '../../apps/gateway/src/state/open-database.ts'
import { freshDataDir } from '../../apps/gateway/src/testing/test-data-dir.ts'
import { ReceiptSigner } from '../../apps/worker/src/sealed/receipts.ts'
import { parseRequestHead, readHeadText } from '../../packages/http/src/request-head.ts'
import { parseResponseHead } from '../../packages/http/src/response-head.ts'
import { type Effort, leastUs, leastUsLater, type Stage } from './least-us.ts'

/** What a worker reports at once at 600 requests a second. */
const reported = 60
const keyId = 'key_bench'
const path = '/v1/chat/completions'
const ids = { workerId: 'w_bench', keyId, model: 'bench', path } as const

export async function measureGateway(effort: Effort, tripUs: number): Promise<readonly Stage[]> {
  const admissions = new Admissions(new Uint8Array(32))
  const few = { tries: effort.tries, calls: Math.max(1, Math.floor(effort.calls / 50)) }
  return [
    { name: 'sockets: two reads, two writes', us: tripUs },
    ...relayStages(effort, admissions),
    {
      name: `check a reported record, one of ${reported}`,
      us: (await reportUs(few, admissions)) / reported,
    },
    {
      name: `book a record in the embedded database, one of ${reported}`,
      us: (await bookingUs(few)) / reported,
    },
  ]
}

function relayStages(effort: Effort, admissions: Admissions): Stage[] {
  const requestId = 'ab'.repeat(16)
  const secret = `pm_${'x'.repeat(43)}`
  const head = Buffer.from(
    `POST /privatemode/v1/sealed HTTP/1.1\r\nhost: 127.0.0.1:8090\r\nauthorization: Bearer ${secret}\r\n` +
      `content-type: application/privatemode-sealed\r\ncontent-length: 2300\r\nprivatemode-request-id: ${requestId}\r\n` +
      `privatemode-model: bench\r\nprivatemode-path: ${path}\r\nprivatemode-workers: w_bench\r\n\r\n`,
  )
  const answerHead = Buffer.from(
    'HTTP/1.1 200 OK\r\ncontent-type: application/privatemode-sealed\r\ndate: Sun, 15 Nov 2026 07:00:00 GMT\r\ncontent-length: 8265\r\n\r\n',
  )
  const relayKey = new Uint8Array(32)
  const admissionId = admissions.newId()
  const relayed = { ...ids, requestId, keyRef: keyId, lengthBytes: 2300 }
  return [
    {
      name: "read the request's head",
      us: leastUs(effort, () => readSealedHead(parseRequestHead(readHeadText(head) ?? ''))),
    },
    { name: 'hash the API key', us: leastUs(effort, () => hashApiKey(secret)) },
    {
      name: "number and sign the worker's request",
      us: leastUs(effort, () => {
        const admission = admissions.format({ ...ids, requestId, admissionId: admissions.newId() })
        return signRelay(relayKey, { ...relayed, admission, sentAtMs: Date.now() })
      }),
    },
    {
      name: "read the answer's head",
      us: leastUs(effort, () => parseResponseHead(readHeadText(answerHead) ?? '')),
    },
    { name: 'note the expected usage', us: expectedUs(effort, admissionId, requestId) },
  ]
}

function expectedUs(effort: Effort, admissionId: string, requestId: string): number {
  const log = createLog({ format: 'json', level: 8, write: () => {} })
  const clock = () => performance.now()
  const expected = new ExpectedUsage({ database: noDatabase, log, clock, graceMs: 3_600_000 })
  const request = { ...ids, admissionId, requestId, startedAtMs: admittedAtMs(admissionId) }
  const us = leastUs({ ...effort, tries: Math.min(effort.tries, 40) }, () =>
    expected.expect({ ...request, durationMs: 12 }),
  )
  void expected.close()
  return us
}

/** Knows all usage. */
const noDatabase: Database = {
  query: () => Promise.resolve([]),
  script: () => Promise.resolve(),
  transaction: () => Promise.resolve(undefined as never),
  close: () => Promise.resolve(),
}

/** Everything of a report but its storage. */
async function reportUs(effort: Effort, admissions: Admissions): Promise<number> {
  const signer = new ReceiptSigner()
  const digest = 'ab'.repeat(32)
  const digests = { request_digest: digest, response_digest: digest, statement_digest: digest }
  const usages = newRecords().map((record) => {
    const { admissionId, requestId } = record
    const wire: WireRecord = {
      ...{ version: 2, admission: admissions.format({ ...ids, admissionId, requestId }) },
      ...{ request_id: requestId, worker_id: ids.workerId, key_ref: keyId, model: ids.model, path },
      ...{ status: 200, outcome: 'complete', prompt_tokens: 256, cached_tokens: 0 },
      ...{ completion_tokens: 256, started_at: Date.now(), duration_ms: 12 },
    }
    return signer.sign(wire, digests).usage
  })
  const text = JSON.stringify(signer.signReport(usages))
  const usage = ['verify'] as const
  const key = await crypto.subtle.importKey('raw', signer.publicKey, 'Ed25519', false, [...usage])
  return leastUsLater(effort, async () => {
    const { records, signature } = JSON.parse(text) as { records: unknown[]; signature: string }
    for (const entry of records) {
      const signed = parseSignedUsage(entry)
      const parsed = signed && parseSignedRecord(signed)
      if (!parsed || admissions.settle(parsed) === undefined) throw new Error('refused a record')
    }
    const bytes = new Uint8Array(Buffer.from(signature, 'base64'))
    if (!(await crypto.subtle.verify('Ed25519', key, bytes, reportMessage(records))))
      throw new Error('refused a report')
  })
}

async function bookingUs(effort: Effort): Promise<number> {
  const directory = await freshDataDir()
  const database = await openDatabase({ kind: 'embedded', directory })
  try {
    await database.query(`insert into accounts (id, name) values ('acct_bench', 'bench')`)
    await database.query(
      `insert into api_keys (id, account_id, name, prefix, hash) values ($1, 'acct_bench', 'bench', 'pm', $2)`,
      [keyId, new Uint8Array(32)],
    )
    return await leastUsLater(effort, () => storeUsage(database, newRecords()))
  } finally {
    await database.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

function newRecords(): UsageRecord[] {
  const newId = () => Bun.randomUUIDv7().replaceAll('-', '')
  return Array.from({ length: reported }, () => ({
    ...{ ...ids, admissionId: newId(), requestId: newId(), status: 200, outcome: 'complete' },
    ...{ promptTokens: 256, cachedTokens: 0, completionTokens: 256 },
    ...{ startedAtMs: Date.now(), durationMs: 12 },
  }))
}
