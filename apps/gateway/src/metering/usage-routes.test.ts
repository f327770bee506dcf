import { expect, test } from 'bun:test'
import { createLog } from '@privatemode/service'
import { createGatewayMetrics } from '../metrics/gateway-metrics.ts'
import { Admissions } from './admissions.ts'
import { ReceiptKeys } from './receipt-keys.ts'
import type { ReportedUsage } from './usage-record.ts'
import { answerUsage } from './usage-routes.ts'

test('requests are served between the records of a long report', async () => {
  let [sinceTurn, most, checked] = [0, 0, 0]
  class CountingAdmissions extends Admissions {
    override settle(reported: ReportedUsage) {
      checked++
      most = Math.max(most, ++sinceTurn)
      return super.settle(reported)
    }
  }
  let isOver = false
  const turn = () => {
    sinceTurn = 0
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const record = {
    ...{ version: 2, admission: 'ab'.repeat(32), request_id: 'ab'.repeat(16), worker_id: 'w_1' },
    ...{ key_ref: 'key_1', model: 'm', path: '/v1/chat/completions', status: 200 },
    ...{ outcome: 'complete', prompt_tokens: 3, cached_tokens: 1, completion_tokens: 2 },
    ...{ started_at: 5, duration_ms: 7 },
  }
  const signed = {
    record: Buffer.from(JSON.stringify(record)).toString('base64'),
    rest_digest: 'ab'.repeat(32),
    signature: `${'A'.repeat(86)}==`,
  }
  const body = JSON.stringify({ records: Array.from({ length: 500 }, () => signed) })
  const response = await answerUsage(new Request('http://gateway/', { method: 'POST', body }), {
    booking: { book: () => Promise.resolve(0) },
    receiptKeys: new ReceiptKeys({ query: async () => [], script: async () => {} }),
    admissions: new CountingAdmissions(new Uint8Array(32)),
    expected: { stored: () => {} },
    log: createLog({ format: 'json', level: 8, write: () => {} }),
    metrics: createGatewayMetrics(),
  })
  isOver = true
  expect(await response.json()).toEqual({ accepted: 0, rejected: 500 })
  expect(checked).toBe(500)
  expect(most).toBeLessThanOrEqual(50)
})
