/** Figures of long runs, for docs/reliability.md: one entry for each target, the newest run. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type FuzzFigures = {
  readonly inputs: number
  readonly seed: number
  /** Inputs that were parsed; all others were refused with a typed error. */
  readonly read: number
  /** Where single inputs are timed. */
  readonly slowestMs?: number
  /** Inputs that reached new code, if coverage is watched. */
  readonly kept?: number
  readonly day: string
}

export type FuzzRecord = { readonly targets: Readonly<Record<string, FuzzFigures>> }

const path = join(import.meta.dirname, '../../docs/reliability/fuzz.json')

export function readRecord(): FuzzRecord {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { targets: {} }
}

/** Read again each time, because two runs may be in progress at once. */
export function writeRecord(name: string, figures: FuzzFigures): void {
  const targets = Object.entries({ ...readRecord().targets, [name]: figures })
  const record: FuzzRecord = { targets: Object.fromEntries(targets.toSorted(byName)) }
  writeFileSync(path, `${JSON.stringify(record, null, 2)}\n`)
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)
