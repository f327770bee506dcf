/** Exports the audit log as CSV or JSON, page by page. */
import type { AuditEntry } from '@privatemode/protocol/fleet'
import { formatCell, streamPages } from '../http/export-stream.ts'
import type { Queries } from '../state/database.ts'
import { type AuditEvent, type AuditRange, listEvents } from './audit-log.ts'

const auditColumns = [
  'id',
  'at',
  'action',
  'account_id',
  'actor_id',
  'actor_name',
  'subject_id',
  'subject_name',
  'details',
  'address',
  'times',
  'last_at',
] as const

const pageRows = 500

type Format = (event: AuditEvent) => AuditEntry

export function streamEvents(
  database: Queries,
  range: AuditRange,
  kind: 'csv' | 'json',
  format: Format,
): ReadableStream<Uint8Array> {
  const pages =
    kind === 'csv' ? csvPages(database, range, format) : jsonPages(database, range, format)
  return streamPages(pages)
}

async function* csvPages(database: Queries, range: AuditRange, format: Format) {
  yield `${auditColumns.join(',')}\r\n`
  for await (const events of eventPages(database, range)) {
    const lines = events.map((event) => {
      const wire = format(event)
      return auditColumns.map((name) => csvCell(wire[name])).join(',')
    })
    yield `${lines.join('\r\n')}\r\n`
  }
}

async function* jsonPages(database: Queries, range: AuditRange, format: Format) {
  let separator = '{"events":['
  for await (const events of eventPages(database, range)) {
    yield separator + events.map((event) => JSON.stringify(format(event))).join(',')
    separator = ','
  }
  yield separator === ',' ? ']}' : `${separator}]}`
}

async function* eventPages(database: Queries, range: AuditRange): AsyncGenerator<AuditEvent[]> {
  let before: number | undefined
  for (;;) {
    const events = await listEvents(database, range, before, pageRows)
    if (events.length > 0) yield events
    if (events.length < pageRows) return
    before = events.at(-1)?.id
  }
}

function csvCell(value: unknown): string {
  if (value === null) return ''
  return formatCell(typeof value === 'object' ? JSON.stringify(value) : value)
}
