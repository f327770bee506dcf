/**
 * `npm run task -- build:weights DIR [--label weights-NAME] [--out FILE]`: a read-only volume of a folder of weights.
 *
 * Prints the volume as JSON: its root hash is the model's digest in manifest and statement, and belongs in
 * the machine's configuration. FILE is dist/weights/LABEL.img by default; the label is the disk's serial number.
 */
import { basename, join } from 'node:path'
import { repository } from './deploy/locked-package.ts'
import { buildWeights } from './machine/weights.ts'
import { parseTaskArguments } from './task-arguments.ts'

const { values, positionals } = parseTaskArguments({
  allowPositionals: true,
  options: { label: { type: 'string' }, out: { type: 'string' } },
})
const [folder] = positionals
if (folder === undefined || positionals.length !== 1)
  throw new Error('expected one folder of weights')
const name = basename(folder)
  .toLowerCase()
  .replace(/[^a-z0-9]/g, '')
  .slice(0, 11)
const label = values.label ?? `weights-${name}`
if (!/^weights-[a-z0-9]{1,11}$/.test(label))
  throw new Error(`--label is ${label}, expected weights-NAME`)
const out = values.out ?? join(repository, 'dist', 'weights', `${label}.img`)
console.log(JSON.stringify({ ...(await buildWeights(folder, label, out)), file: out }))
