/** Inserts the flag tables into the documentation, between their markers. */
import { formatFlagTable } from '@privatemode/service'
import { ours, program, specified } from './flag-table.ts'

const groups = { specified, ours } as const

/** The document with both tables brought up to date. */
export function withFlagTables(document: string): string {
  return document.replace(
    /(<!-- flags: (specified|ours) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_all, start: string, group: keyof typeof groups, end: string) =>
      `${start}\n${formatFlagTable(program, groups[group])}\n${end}`,
  )
}
