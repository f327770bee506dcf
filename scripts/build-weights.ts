/**
 * `npm run task -- build:weights DIR [--label weights-NAME] [--out FILE]`: a read-only volume of a folder of weights.
 *
 * Prints the volume as JSON: its root hash is the model's digest in manifest and statement, and belongs in
 * the machine's configuration. FILE is dist/weights/LABEL.img by default; the label is the disk's serial number.
 */
import { basename, join } from 'node:path'
import { repository } from './deploy/locked-package.ts'
import { buildWeights } from './machine/weights.ts'
import { onlyArgument, parseTaskArguments, refuseArguments } from './task-arguments.ts'

const { values, positionals } = parseTaskArguments({
  allowPositionals: true,
  options: { label: { type: 'string' }, out: { type: 'string' } },
})
const expected = 'one folder of weights: npm run task -- build:weights DIR'
const folder = onlyArgument(positionals, expected)
const name = basename(folder)
  .toLowerCase()
  .replace(/[^a-z0-9]/g, '')
  .slice(0, 11)
const label = values.label ?? `weights-${name}`
if (!/^weights-[a-z0-9]{1,11}$/.test(label))
  refuseArguments(
    `--label is ${label}, expected weights-NAME with at most 11 lower-case letters and digits`,
  )
const out = values.out ?? join(repository, 'dist', 'weights', `${label}.img`)
console.log(JSON.stringify({ ...(await buildWeights(folder, label, out)), file: out }))
