/** The last result of every check against every version, so that a table can be made in several runs. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from './report.ts'

export function keepResults(cacheFolder: string, run: Run): void {
  const folder = join(cacheFolder, 'results')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${run.server}-${run.version}.json`)
  const before: Run['rows'] = existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as Run).rows
    : []
  const names = new Set(run.rows.map(({ name }) => name))
  const rows = [...before.filter(({ name }) => !names.has(name)), ...run.rows]
  writeFileSync(path, JSON.stringify({ ...run, rows }))
}

/** The newest version first. */
export function readResults(cacheFolder: string): Run[] {
  const folder = join(cacheFolder, 'results')
  return readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Run)
    .sort((a, b) => b.version.localeCompare(a.version, undefined, { numeric: true }))
}
