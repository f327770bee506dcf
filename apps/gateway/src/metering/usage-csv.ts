/** Usage as CSV, page by page. */
import { formatCell, streamPages } from '../http/export-stream.ts'
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

export const streamUsage = (database: Queries, range: UsageRange): ReadableStream<Uint8Array> =>
  streamPages(exportUsage(database, range))
