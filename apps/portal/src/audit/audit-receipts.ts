/** Compares a client's receipts with what the gateway has billed, in the visitor's browser. */
import type { BilledRequest } from '@privatemode/protocol/fleet'

export type ReceiptAudit = {
  /** Differences by the gateway's number of a request; absent if everything is as signed. */
  readonly byAdmission: ReadonlyMap<string, readonly string[]>
  /** Receipts of unlisted requests: from another time, for another key, or never billed. */
  readonly notListed: number
  readonly unreadable: number
  readonly receipts: number
}

const compared = ['model', 'path', 'outcome', 'prompt_tokens', 'completion_tokens'] as const

/** `text` has one receipt per line, as written by the proxy's `--receipts` and the playground. */
export function auditReceipts(text: string, billed: readonly BilledRequest[]): ReceiptAudit {
  const bill = new Map(billed.map((row) => [row.admission_id, row]))
  const byAdmission = new Map<string, readonly string[]>()
  let [notListed, unreadable, receipts] = [0, 0, 0]
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const record = readRecord(line)
    if (record === undefined) {
      unreadable++
      continue
    }
    receipts++
    const admission = String(record.admission ?? '').slice(0, 32)
    const row = bill.get(admission)
    if (row === undefined) notListed++
    else byAdmission.set(admission, differences(record, row))
  }
  return { byAdmission, notListed, unreadable, receipts }
}

type SignedRecord = Readonly<Record<string, unknown>>

function readRecord(line: string): SignedRecord | undefined {
  try {
    const { record } = JSON.parse(line) as { record?: unknown }
    const bytes = Uint8Array.from(atob(String(record)), (char) => char.charCodeAt(0))
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes))
    const isRecord = typeof parsed === 'object' && parsed !== null && 'request_id' in parsed
    return isRecord ? (parsed as SignedRecord) : undefined
  } catch {
    return undefined
  }
}

function differences(record: SignedRecord, row: BilledRequest): readonly string[] {
  const found: string[] = compared
    .filter((field) => String(record[field]) !== String(row[field]))
    .map((field) => `${field}: signed ${String(record[field])}, billed ${row[field]}`)
  const cached = row.path.startsWith('/v1/messages') ? 0 : Number(record.cached_tokens)
  if (cached !== row.cached_tokens) {
    found.push(`cached_tokens: signed ${cached}, billed ${row.cached_tokens}`)
  }
  if (String(record.key_ref) !== row.key_id) found.push('billed to another key')
  return found
}
