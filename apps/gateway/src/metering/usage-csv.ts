/** Usage as CSV (RFC 4180), page by page, so that an export of any size needs little memory. */
import type { Queries } from '../state/database.ts'
import { listRequests, type UsageCursor, type UsageRange, usageColumns } from './usage-query.ts'

const pageRows = 1_000

export async function* exportUsage(database: Queries, range: UsageRange): AsyncGenerator<string> {
  yield `${usageColumns.join(',')}\r\n`
  let cursor: UsageCursor | undefined
  for (;;) {
    const rows = await listRequests(database, range, cursor, pageRows)
    let page = ''
    for (const row of rows)
      page += `${usageColumns.map((name) => formatCell(row[name])).join(',')}\r\n`
    if (page !== '') yield page
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageRows) return
    cursor = { startedAt: last.started_at, admissionId: last.admission_id }
  }
}

/** The same as a stream of bytes; a reader that goes away ends the queries. */
export function streamUsage(database: Queries, range: UsageRange): ReadableStream<Uint8Array> {
  const pages = exportUsage(database, range)
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pages.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await pages.return(undefined)
    },
  })
}

/**
 * A leading sign would be a formula to a spreadsheet: names are chosen by users. Where a spreadsheet cuts
 * at semicolons or tabs, a cell begins behind each of them.
 */
export function formatCell(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'number') return String(value)
  const text = String(value)
  const safe = text.replace(/(^|[;\t\r\n])(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'")
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
