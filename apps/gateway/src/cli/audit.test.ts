import { expect, test } from 'bun:test'
import { formatCell } from '../metering/usage-csv.ts'
import { usageRecord } from '../testing/signed-usage.ts'
import { auditBill, formatFindings } from './audit.ts'

const receiptOf = (record: object) =>
  JSON.stringify({ record: Buffer.from(JSON.stringify(record)).toString('base64'), signature: 'x' })

const columns = 'request_id,model,path,outcome,prompt_tokens,cached_tokens,completion_tokens'
const rowOf = (record: Record<string, unknown>) =>
  columns
    .split(',')
    .map((name) => formatCell(record[name]))
    .join(',')
const billOf = (...records: Record<string, unknown>[]) =>
  `${[columns, ...records.map(rowOf)].join('\r\n')}\r\n`

test('a bill that agrees with the receipts has no differences', () => {
  const chat = usageRecord()
  const messages = usageRecord({ path: '/v1/messages', cached_tokens: 4 })
  const bill = billOf(chat, { ...messages, cached_tokens: 0 })
  const findings = auditBill(`${receiptOf(chat)}\n${receiptOf(messages)}\n`, bill)
  expect(findings).toEqual({ receipts: 2, billed: 2, differences: [], unreadable: 0 })
})

test('each kind of difference is found and named', () => {
  const [dear, missing, foreign, free] = [
    usageRecord(),
    usageRecord(),
    usageRecord(),
    usageRecord(),
  ]
  const lost = { ...free, prompt_tokens: 0, completion_tokens: 0, outcome: 'lost' }
  const bill = billOf({ ...dear, completion_tokens: 500 }, foreign, lost)
  const findings = auditBill([receiptOf(dear), receiptOf(missing), 'nonsense'].join('\n'), bill)
  expect(findings.differences).toEqual([
    { requestId: String(dear.request_id), kind: 'differs', detail: 'completion_tokens: 5 / 500' },
    { requestId: String(missing.request_id), kind: 'not_billed', detail: '' },
    { requestId: String(foreign.request_id), kind: 'no_receipt', detail: '15 tokens' },
  ])
  expect(findings.unreadable).toBe(1)
  expect(formatFindings(findings)).toEndWith('2 receipts, 3 billed, 3 differences, 1 unreadable\n')
})

test('cells that a spreadsheet would run or split are made harmless', () => {
  expect(formatCell('=cmd()')).toBe("'=cmd()")
  expect(formatCell('a,"b"')).toBe('"a,""b"""')
  expect(formatCell(-5)).toBe('-5')
})
