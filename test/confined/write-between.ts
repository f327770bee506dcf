/** Replaces what a document has between two marks. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../../scripts/deploy/locked-package.ts'

export function writeBetween(mark: string, text: string, page = 'docs/operations.md'): void {
  const path = join(repository, page)
  const document = readFileSync(path, 'utf8')
  const [begin, end] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`]
  if (!document.includes(begin)) throw new Error(`${page} has no mark ${begin}`)
  const from = document.indexOf(begin) + begin.length
  const to = document.indexOf(end)
  writeFileSync(path, `${document.slice(0, from)}\n${text}${document.slice(to)}`)
}
