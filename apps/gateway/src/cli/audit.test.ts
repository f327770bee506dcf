import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatCell } from '../http/export-stream.ts'
import { usageRecord } from '../testing/signed-usage.ts'
import { auditBill, formatFindings } from './audit.ts'
import { runCommand } from './command.ts'

const receiptOf = (record: object) =>
  JSON.stringify({ record: Buffer.from(JSON.stringify(record)).toString('base64'), signature: 'x' })

const columns =
  'request_id,admission_id,key_id,model,path,outcome,prompt_tokens,cached_tokens,completion_tokens'
const idOf = (record: Record<string, unknown>) => String(record.admission).slice(0, 32)
const rowOf = (record: Record<string, unknown>) =>
  columns
    .split(',')
    .map((name) =>
      formatCell(name === 'admission_id' ? idOf(record) : (record[name] ?? record.key_ref)),
    )
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

test('requests with the same request id are distinguished by their admission', () => {
  const one = usageRecord()
  const other = usageRecord({ request_id: one.request_id, completion_tokens: 90 })
  const receipts = [receiptOf(one), receiptOf(other)].join('\n')
  expect(auditBill(receipts, billOf(other, one)).differences).toEqual([])
  expect(auditBill(receiptOf(one), billOf(other, one)).differences).toMatchObject([
    { requestId: one.request_id, kind: 'no_receipt' },
  ])
})

test('a request billed twice, or to another key, is found', () => {
  const [twice, moved] = [usageRecord(), usageRecord({ key_ref: 'key_mine' })]
  const bill = billOf(twice, twice, { ...moved, key_ref: 'key_other' })
  const findings = auditBill([receiptOf(twice), receiptOf(moved)].join('\n'), bill)
  expect(findings.differences).toEqual([
    { requestId: String(twice.request_id), kind: 'billed_again', detail: '' },
    {
      requestId: String(moved.request_id),
      kind: 'differs',
      detail: 'key_id: key_mine / key_other',
    },
  ])
  expect(findings.billed).toBe(3)
})

test('neither the mark that protects spreadsheets nor quotes are differences', () => {
  for (const model of ['@vendor/model', '-x', 'with,"comma"']) {
    const record = usageRecord({ model })
    expect(auditBill(receiptOf(record), billOf(record)).differences).toEqual([])
  }
})

test('a file that is not a usage export is refused', () => {
  for (const bill of ['', 'time,requests\r\n1,2\r\n', '{"rows":[]}']) {
    expect(() => auditBill(receiptOf(usageRecord()), bill)).toThrow('not a usage export')
  }
})

test('the command fails where something differs or could not be read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  const [receipts, bill] = [join(folder, 'receipts'), join(folder, 'bill.csv')]
  const run = (lines: string, csv: string) => {
    writeFileSync(receipts, lines)
    writeFileSync(bill, csv)
    const args = ['usage', 'audit', '--receipts', receipts, '--bill', bill]
    return runCommand(args, {}, () => undefined)
  }
  const record = usageRecord()
  expect(await run(receiptOf(record), billOf(record))).toBe(0)
  expect(await run(`${receiptOf(record)}\nnonsense`, billOf(record))).toBe(1)
  expect(await run(receiptOf(record), billOf({ ...record, prompt_tokens: 11 }))).toBe(1)
  rmSync(folder, { recursive: true })
})

test('cells that a spreadsheet would run or split are made harmless', () => {
  expect(formatCell('=cmd()')).toBe("'=cmd()")
  for (const text of ['a;=cmd()', 'a\t+1', 'a\n@x', ' =1', '\uff1d1', 'a;"-1"']) {
    const [safe = ''] = formatCell(text).match(/(?:^|[;\t\n])(?=[\s"]*[=+\-@\uff1d])/) ?? ['none']
    expect([text, safe]).toEqual([text, 'none'])
  }
  expect(formatCell('a,"b"')).toBe('"a,""b"""')
  expect(formatCell(-5)).toBe('-5')
})
