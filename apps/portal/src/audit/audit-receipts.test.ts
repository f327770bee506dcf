import { expect, test } from 'bun:test'
import type { BilledRequest } from '@privatemode/protocol/fleet'
import { auditReceipts } from './audit-receipts.ts'

const admission = 'ab'.repeat(16)
const billed: BilledRequest = {
  ...{ request_id: 'r', admission_id: admission, started_at: '2026-01-01T00:00:00Z' },
  ...{
    account_id: 'account_1',
    key_id: 'key_1',
    worker_id: 'w',
    model: 'm',
    path: '/v1/chat/completions',
  },
  ...{ outcome: 'complete', status: 200, duration_ms: 9, cost_micros: 0 },
  ...{ prompt_tokens: 5, cached_tokens: 0, completion_tokens: 7 },
}
const signed = {
  ...{ request_id: 'r', admission: `${admission}tag`, key_ref: 'key_1', model: 'm' },
  ...{ path: '/v1/chat/completions', outcome: 'complete', prompt_tokens: 5, completion_tokens: 7 },
  cached_tokens: 0,
}
const line = (record: object) =>
  JSON.stringify({ record: Buffer.from(JSON.stringify(record)).toString('base64') })

test('a bill that matches what was signed has no differences', () => {
  const { byAdmission, receipts } = auditReceipts(`${line(signed)}\n`, [billed])
  expect(byAdmission.get(admission)).toEqual([])
  expect(receipts).toBe(1)
})

test('more tokens, a different model and a different key are reported', () => {
  const wrong = { ...billed, completion_tokens: 70, model: 'dearer', key_id: 'key_2' }
  expect(auditReceipts(line(signed), [wrong]).byAdmission.get(admission)).toEqual([
    'model: signed m, billed dearer',
    'completion_tokens: signed 7, billed 70',
    'billed to another key',
  ])
})

test('unlisted requests and invalid receipts are counted', () => {
  const text = [line({ ...signed, admission: 'cd'.repeat(16) }), 'x', '{}', line([])].join('\n')
  expect(auditReceipts(text, [billed])).toMatchObject({ notListed: 1, unreadable: 3, receipts: 1 })
})

test('cached tokens are cheaper, so fewer of them than were signed is a difference', () => {
  const cached = { ...signed, cached_tokens: 4 }
  expect(auditReceipts(line(cached), [billed]).byAdmission.get(admission)).toEqual([
    'cached_tokens: signed 4, billed 0',
  ])
  // The messages endpoint bills all tokens as not cached.
  const path = '/v1/messages'
  const messages = auditReceipts(line({ ...cached, path }), [{ ...billed, path }])
  expect(messages.byAdmission.get(admission)).toEqual([])
})
