/**
 * Removes security checks one at a time and runs the tests that guard them: each removal must make
 * a test fail, whose name is shown. Works on a copy; `npm run task -- checks:remove
 * [NAME [PART …]]`, where a name is one of targets.ts and a part one of `path:line`.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findRemovals, type Removal } from './find-removals.ts'
import { type Target, targets } from './targets.ts'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const copied = [
  'packages',
  'apps',
  'test',
  'docs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.base.json',
]

const [wanted, ...parts] = process.argv.slice(2)
const copy = makeCopy()
let survivors = 0
let removed = 0
try {
  for (const target of targets.filter(({ name }) => wanted === undefined || name === wanted)) {
    const removals = target.sources.flatMap(filesBelow).flatMap(removalsIn)
    // Tests that already fail would seem to notice every removal.
    const failing = failedTest(target.tests)
    if (failing !== undefined) throw new Error(`fails with every check in place: ${failing}`)
    const isChosen = ({ place }: Placed) => parts.some((part) => place.includes(part))
    for (const removal of parts.length === 0 ? removals : removals.filter(isChosen)) {
      removed++
      const path = join(copy, removal.file)
      const original = readFileSync(path, 'utf8')
      writeFileSync(path, removal.mutated)
      const failed = firstFailure([...nearTests(removal.file, target), target.tests])
      writeFileSync(path, original)
      if (!failed) survivors++
      const verdict = failed ? 'noticed ' : 'SURVIVED'
      console.log(`${verdict} ${removal.place}  ${removal.text}`)
      if (failed) console.log(`         by: ${failed}`)
    }
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${removed} checks removed one at a time, ${survivors} removals went unnoticed`)
process.exit(survivors === 0 ? 0 : 1)

type Placed = Removal & { readonly file: string; readonly place: string }

function removalsIn(file: string): Placed[] {
  const removals = findRemovals(readFileSync(join(root, file), 'utf8'))
  return removals.map((removal) => ({ ...removal, file, place: `${file}:${removal.line}` }))
}

function filesBelow(source: string): string[] {
  if (source.endsWith('.ts')) return [source]
  return readdirSync(join(root, source), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('index.ts'),
    )
    .map((name) => join(source, name))
    .sort()
}

/** The tests of the file itself, short ones, and those next to it: most often the ones that notice. */
function nearTests(file: string, { short = [], tests }: Target): readonly (readonly string[])[] {
  const own = file.replace(/\.ts$/, '.test.ts')
  const around = tests.filter((test) => file.startsWith(test))
  const near = around.sort((a, b) => a.length - b.length).slice(-1)
  return [existsSync(join(copy, own)) ? [own] : [], short, near]
}

/** Runs groups of tests in turn and returns the first test that fails. */
function firstFailure(groups: readonly (readonly string[])[]): string | undefined {
  for (const tests of groups) {
    const failed = tests.length === 0 ? undefined : failedTest(tests)
    if (failed !== undefined) return failed
  }
  return undefined
}

/** The name of the test that failed; undefined if all passed. */
function failedTest(tests: readonly string[]): string | undefined {
  const options = ['--bail', '--timeout', '300000']
  const run = Bun.spawnSync(
    [process.execPath, 'test', ...options, ...tests.map((path) => `./${path}`)],
    { cwd: copy, stdout: 'ignore', stderr: 'pipe', timeout: 900_000 },
  )
  if (run.exitCode === 0) return undefined
  if (run.exitedDueToTimeout) return 'tests that did not end'
  return (
    /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/m.exec(run.stderr.toString())?.[1] ?? 'a file that fails'
  )
}

function makeCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'remove-checks-'))
  const keep = (path: string) => !relative(root, path).split('/').includes('node_modules')
  for (const name of copied)
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: keep })
  const modules = join(root, 'node_modules')
  mkdirSync(join(folder, 'node_modules', '@privatemode'), { recursive: true })
  for (const name of readdirSync(modules)) {
    if (name !== '@privatemode')
      symlinkSync(join(modules, name), join(folder, 'node_modules', name))
  }
  for (const parent of ['packages', 'apps']) {
    for (const name of readdirSync(join(folder, parent))) {
      symlinkSync(join(folder, parent, name), join(folder, 'node_modules', '@privatemode', name))
    }
  }
  return folder
}
