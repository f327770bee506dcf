/** Builds a verity volume from a folder of weights. */
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Volume } from '@privatemode/machine'
import { type ErofsEntry, writeErofs } from './erofs.ts'
import { appendVerity } from './verity.ts'

export async function buildWeights(folder: string, label: string, out: string): Promise<Volume> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => !one.isDirectory())
    .map((one): ErofsEntry => {
      const from = join(one.parentPath, one.name)
      if (!one.isFile()) throw new Error(`${from} is neither a file nor a folder`)
      return { kind: 'file', path: relative(folder, from), mode: 0o444, from }
    })
  if (entries.length === 0) throw new Error(`${folder} has no files`)
  mkdirSync(dirname(out), { recursive: true })
  await writeErofs(out, label, entries)
  return { label, ...appendVerity(out, label) }
}
