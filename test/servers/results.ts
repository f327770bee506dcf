/** The last result of every check against every version, so that a table can be built in several runs. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from './report.ts'

export function keepResults(cacheFolder: string, run: Run): void {
  const folder = join(cacheFolder, 'results')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${run.server}-${run.version}.json`)
  const before = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Run) : undefined
  const names = new Set(run.rows.map(({ name }) => name))
  const old = before?.rows.filter(({ name }) => !names.has(name)) ?? []
  // Notes about rows that stay are kept.
  const note = old.length > 0 && before?.note !== undefined ? { note: before.note } : {}
  const cost = before?.cost === undefined ? {} : { cost: before.cost }
  writeFileSync(path, JSON.stringify({ ...cost, ...run, ...note, rows: [...old, ...run.rows] }))
}

/** The newest version first. */
export function readResults(cacheFolder: string): Run[] {
  const folder = join(cacheFolder, 'results')
  return readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Run)
    .sort((a, b) => b.version.localeCompare(a.version, undefined, { numeric: true }))
}
