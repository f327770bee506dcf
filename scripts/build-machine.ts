/**
 * `npm run task -- build:machine CONFIG [--variant production|software|debug] [--out DIR]`: the confidential machine.
 *
 * CONFIG is the measured configuration (docs/machine.md). DIR is dist/machine by default; it receives firmware,
 * kernel, initial disk, command line, root volume and machine.json, an index of every file with origin and hash.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseMachineConfig, variants } from '@privatemode/machine'
import { repository } from './deploy/locked-package.ts'
import { buildMachine } from './machine/build.ts'
import { onlyArgument, parseTaskArguments, refuseArguments } from './task-arguments.ts'

const { values, positionals } = parseTaskArguments({
  allowPositionals: true,
  options: { variant: { type: 'string' }, out: { type: 'string' } },
})
const path = onlyArgument(positionals, 'one configuration: npm run task -- build:machine CONFIG')
const variant = variants.find((known) => known === (values.variant ?? 'production'))
if (variant === undefined) refuseArguments(`--variant is not one of ${variants.join(', ')}`)
const config = parseMachineConfig(new Uint8Array(readFileSync(path)), variant)
const out = values.out ?? join(repository, 'dist', 'machine')
await buildMachine({ variant, config, out })
console.log(`${out}: variant ${variant}; npm run -s verify -- measure snp --machine ${out}`)
