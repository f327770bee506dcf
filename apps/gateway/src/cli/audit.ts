/** Compares clients' receipts with their bill. */
import { GatewayError } from '../gateway-error.ts'
import { billedCachedTokens } from '../metering/usage-record.ts'

export type Difference = {
  readonly requestId: string
  readonly kind: 'not_billed' | 'billed_again' | 'no_receipt' | 'differs'
  /** What differs: the field, its value in the receipt, its value in the bill. */
  readonly detail: string
}

export type Findings = {
  readonly receipts: number
  readonly billed: number
  readonly differences: readonly Difference[]
  /** Lines that could not be parsed as a receipt. */
  readonly unreadable: number
}

/** Columns of the bill, named as in receipts, except for the key, which is `key_ref` there. */
const compared = [
  'key_id',
  'model',
  'path',
  'outcome',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
]

/**
 * `receipts` has one receipt per line, as clients get them; `billCsv` is a usage export. Both are
 * matched by the gateway's number of a request, which the worker signed into the receipt; findings
 * name the client's number. A request billed without a receipt is not a difference if it cost
 * nothing; a lost request is one.
 */
export function auditBill(receipts: string, billCsv: string): Findings {
  const { bill, again } = parseBill(billCsv)
  const differences: Difference[] = again.map((requestId) => ({
    ...{ requestId, kind: 'billed_again', detail: '' },
  }))
  const seen = new Set<string>()
  let unreadable = 0
  for (const line of receipts.split('\n').filter((each) => each.trim() !== '')) {
    const record = parseReceipt(line)
    const requestId = record?.get('request_id')
    if (record === undefined || requestId === undefined) {
      unreadable++
      continue
    }
    seen.add(numberOf(record))
    const billed = bill.get(numberOf(record))
    if (billed === undefined) {
      differences.push({ requestId, kind: 'not_billed', detail: '' })
      continue
    }
    for (const field of compared) {
      const [ours, theirs] = [record.get(field), billed.get(field)]
      if (ours === theirs) continue
      differences.push({ requestId, kind: 'differs', detail: `${field}: ${ours} / ${theirs}` })
    }
  }
  for (const [number, row] of bill) {
    const cost = Number(row.get('prompt_tokens')) + Number(row.get('completion_tokens'))
    if (seen.has(number) || cost === 0) continue
    const requestId = row.get('request_id') ?? ''
    differences.push({ requestId, kind: 'no_receipt', detail: `${cost} tokens` })
  }
  return { receipts: seen.size, billed: bill.size + again.length, differences, unreadable }
}

export function formatFindings(findings: Findings): string {
  const lines = findings.differences.map(({ requestId, kind, detail }) =>
    `${requestId} ${kind} ${detail}`.trimEnd(),
  )
  const { receipts, billed, unreadable } = findings
  const sum = `${receipts} receipts, ${billed} billed, ${lines.length} differences, ${unreadable} unreadable`
  return `${[...lines, sum].join('\n')}\n`
}

type Fields = ReadonlyMap<string, string>

/** The number a request is billed by. Receipts older than admissions use the client's number. */
function numberOf(fields: Fields): string {
  return fields.get('admission_id') ?? fields.get('request_id') ?? ''
}

function parseReceipt(line: string): Fields | undefined {
  try {
    const receipt = JSON.parse(line) as { record?: unknown }
    const bytes = Buffer.from(String(receipt.record), 'base64')
    const record = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>
    const fields = new Map(Object.entries(record).map(([name, value]) => [name, String(value)]))
    const cached = billedCachedTokens(String(record.path), Number(record.cached_tokens))
    const { admission } = record
    // An admission is the number in the bill, followed by a tag that only gateways can verify.
    if (typeof admission === 'string') fields.set('admission_id', admission.slice(0, 32))
    return fields.set('cached_tokens', String(cached)).set('key_id', String(record.key_ref))
  } catch {
    return undefined
  }
}

type Bill = {
  readonly bill: ReadonlyMap<string, Fields>
  /** Requests in duplicate lines: they would be paid for twice. */
  readonly again: readonly string[]
}

/** Parses our own export: no cell contains a line break. */
function parseBill(csv: string): Bill {
  const [head = '', ...rows] = csv.split(/\r?\n/).filter((line) => line !== '')
  const names = head.split(',')
  const missing = ['request_id', 'admission_id', ...compared].filter(
    (name) => !names.includes(name),
  )
  if (missing.length > 0) {
    const message = `the bill is not a usage export: column ${missing.join(', ')} is missing`
    throw new GatewayError('settings_contradict', message)
  }
  const bill = new Map<string, Fields>()
  const again: string[] = []
  for (const row of rows) {
    const cells = [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((match) =>
      plainText(match[1]?.replaceAll('""', '"') ?? match[2] ?? ''),
    )
    const fields = new Map(names.map((name, index) => [name, cells[index] ?? '']))
    if (bill.has(numberOf(fields))) again.push(fields.get('request_id') ?? '')
    else bill.set(numberOf(fields), fields)
  }
  return { bill, again }
}

/** The export prefixes text with a mark that keeps spreadsheets from running it. */
function plainText(cell: string): string {
  return cell.replace(/(^|[;\t\r\n])'(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, '$1')
}
