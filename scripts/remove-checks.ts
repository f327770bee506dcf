/**
 * Removes security checks one at a time and runs the tests that guard them: each removal must make
 * a test fail, whose name is shown. Works on a copy; `npm run checks:remove
 * [-- envelope|attestation|x509|evidence|protocol|sdk|worker|api|engine|service|gateway [parts of paths …]]`.
 */
import {
  cpSync,
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

type Target = {
  readonly name: string
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  /** Those of them that are short and try much, whichever file it is in. */
  readonly short?: readonly string[]
}

const targets: readonly Target[] = [
  {
    name: 'envelope',
    sources: ['packages/protocol/src/envelope'],
    tests: ['test/protocol', 'packages/protocol/src/envelope'],
  },
  {
    name: 'attestation',
    sources: [
      'packages/attestation/src/verify-worker.ts',
      'packages/attestation/src/appraise-worker.ts',
      'packages/attestation/src/software',
      'packages/attestation/src/log',
      'packages/attestation/src/manifest',
    ],
    tests: [
      'packages/attestation/src/software',
      'packages/attestation/src/log',
      'packages/attestation/src/manifest',
      'packages/attestation/src',
    ],
  },
  {
    name: 'x509',
    sources: ['packages/attestation/src/x509'],
    tests: ['packages/attestation/src/x509', 'packages/attestation/src'],
  },
  {
    name: 'evidence',
    sources: [
      'packages/attestation/src/snp',
      'packages/attestation/src/tdx',
      'packages/attestation/src/bundle',
      'packages/attestation/src/receipt.ts',
      'packages/attestation/src/statement.ts',
    ],
    tests: [
      'packages/attestation/src/snp',
      'packages/attestation/src/tdx',
      'packages/attestation/src/bundle',
      'packages/attestation/src',
    ],
  },
  {
    name: 'protocol',
    sources: ['packages/protocol/src/api'],
    tests: ['packages/protocol/src/api'],
  },
  {
    name: 'sdk',
    sources: ['packages/sdk/src'],
    tests: ['packages/sdk/src', 'test/e2e/sealed-path.test.ts', 'test/hostile'],
  },
  {
    name: 'worker',
    sources: ['apps/worker/src/sealed', 'apps/worker/src/app.ts'],
    tests: [
      'apps/worker/src/sealed',
      'apps/worker/src/app.test.ts',
      'test/e2e/sealed-path.test.ts',
      'test/hostile',
    ],
  },
  {
    name: 'api',
    sources: ['apps/worker/src/api'],
    tests: [
      'apps/worker/src/api',
      'apps/worker/src/api/messages',
      'apps/worker/src/api/openai',
      'apps/worker/src/api/responses',
    ],
    short: ['apps/worker/src/api/refusals.test.ts'],
  },
  {
    name: 'engine',
    sources: ['apps/worker/src/engine/http'],
    tests: [
      'apps/worker/src/engine/http',
      'apps/worker/src/api/given-up.test.ts',
      'apps/worker/src/api/native-answers.test.ts',
      'apps/worker/src/api/native-dialects.test.ts',
      'apps/worker/src/api/native-failures.test.ts',
      'apps/worker/src/api/over-http-engine.test.ts',
    ],
  },
  {
    name: 'service',
    sources: ['packages/service/src/http', 'packages/service/src/tracing'],
    tests: ['packages/service/src/http', 'packages/service/src/tracing'],
  },
  {
    name: 'gateway',
    sources: [
      'apps/gateway/src/admin',
      'apps/gateway/src/keys',
      'apps/gateway/src/limits',
      'apps/gateway/src/members',
      'apps/gateway/src/metering',
      'apps/gateway/src/operator',
      'apps/gateway/src/registry',
      'apps/gateway/src/relay',
    ],
    tests: [
      'apps/gateway/src/admin',
      'apps/gateway/src/keys',
      'apps/gateway/src/limits',
      'apps/gateway/src/members',
      'apps/gateway/src/metering',
      'apps/gateway/src/registry',
      'apps/gateway/src/relay',
      'apps/gateway/src/app.test.ts',
    ],
  },
]

type Removal = {
  readonly file: string
  readonly line: number
  readonly text: string
  readonly mutated: string
}

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
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
    const removals = target.sources.flatMap(findRemovals)
    // Tests that fail anyway would notice everything.
    const failing = failedTest(target.tests)
    if (failing !== undefined) throw new Error(`fails with every check in place: ${failing}`)
    const chosen = parts.flatMap((part) => removals.filter(({ file }) => file.includes(part)))
    for (const removal of parts.length === 0 ? removals : chosen) {
      removed++
      const path = join(copy, removal.file)
      const original = readFileSync(path, 'utf8')
      writeFileSync(path, removal.mutated)
      // The tests beside it are short, and most often the ones that notice.
      const around = target.tests.filter((test) => removal.file.startsWith(test))
      const near = around.sort((a, b) => a.length - b.length).slice(-1)
      const failed = firstFailure([target.short ?? [], near, target.tests])
      writeFileSync(path, original)
      if (!failed) survivors++
      const verdict = failed ? 'noticed ' : 'SURVIVED'
      console.log(`${verdict} ${removal.file}:${removal.line}  ${removal.text}`)
      if (failed) console.log(`         by: ${failed}`)
    }
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${removed} checks removed one at a time, ${survivors} removals went unnoticed`)
process.exit(survivors === 0 ? 0 : 1)

/**
 * Conditions that decide about a refusal: `if (bad) throw`, a block that throws, `if (good) return`
 * with the refusal behind it, or `require(…)`.
 */
function findRemovals(source: string): Removal[] {
  return filesBelow(source).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const lines = text.split('\n')
    return lines.flatMap((line, index) => {
      const guard =
        /^\s*if \(/.test(line) && /throw |refuse|fail\(/.test(`${line}${lines[index + 1] ?? ''}`)
      const required = /transcript\.require\($/.test(line)
      const asserted = /^\s*require\(.+\)$/.test(line)
      if (!guard && !required && !asserted) return []
      const opening = isPass(line) ? 'if (true || (' : 'if (false && ('
      const changed = guard
        ? line.replace('if (', opening).replace(/\)(?=$| (?:throw|\{|return))/, '))')
        : asserted
          ? line.replace('require(', 'require(true || (').replace(/\)$/, '))')
          : `${line} true ||`
      if (guard && changed.split('(').length !== changed.split(')').length) return []
      const mutated = lines.toSpliced(index, 1, changed).join('\n')
      return [{ file, line: index + 1, text: line.trim(), mutated }]
    })
  })
}

/** Whether the condition lets a good case pass, rather than refuse a bad one. */
function isPass(line: string): boolean {
  return /\) return\b/.test(line) && !/throw |refuse\(|fail\(/.test(line)
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

/** Of groups of tests one after the other, the first test that fails. */
function firstFailure(groups: readonly (readonly string[])[]): string | undefined {
  for (const tests of groups) {
    const failed = tests.length === 0 ? undefined : failedTest(tests)
    if (failed !== undefined) return failed
  }
  return undefined
}

/** The name of the test that failed; undefined if all passed. */
function failedTest(tests: readonly string[]): string | undefined {
  const run = Bun.spawnSync(
    [process.execPath, 'test', '--bail', '--timeout', '60000', ...tests.map((path) => `./${path}`)],
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
  for (const room of ['packages', 'apps']) {
    for (const name of readdirSync(join(folder, room))) {
      symlinkSync(join(folder, room, name), join(folder, 'node_modules', '@privatemode', name))
    }
  }
  return folder
}
