/** `npm test`: set-up, types, lint, then every test; the last lines count the results and list what was skipped or failed at first. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failedFiles } from './failed-tests.mjs'
import { bunPath, install, root } from './setup.mjs'
import { explainSkipped } from './skipped-tests.mjs'

install('all')
const bun = bunPath()
const wanted = process.argv.slice(2)
// Tests create many temporary folders; all of them go with this one.
const temporary = mkdtempSync(join(tmpdir(), 'pm-test-'))
chmodSync(temporary, 0o711) // as root, tests run PostgreSQL as another user
process.on('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 3 }))
if (wanted.length === 0) {
  step('types: packages for the web platform', [
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.neutral.json',
  ])
  step('types: pages', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.portal.json'])
  step('types: programs and tests', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'])
  step('lint and forbidden imports', ['node_modules/@biomejs/biome/bin/biome', 'check', '.'])
}
const counted = wanted.length === 0 ? await tryAgain(await runLanes()) : await runTests(wanted)
for (const failure of counted.failures) console.log(failure)
const { lines, unexplained, count } = explainSkipped(counted.output)
for (const line of lines) console.log(line)
// A skipped test is not a pass: one that gives no reason for being skipped has failed.
for (const name of unexplained) console.log(`(fail) ${name}: skipped without a reason`)
const unnamed = Math.max(0, counted.skipped - count)
if (unnamed > 0) console.log(`(fail) ${unnamed} tests were skipped without being named`)
const failed = counted.failed + unexplained.length + unnamed
const skipped = counted.skipped - unexplained.length - unnamed
for (const name of counted.unsteady ?? [])
  console.log(`unsteady (failed beside the others, passed alone): ${name}`)
console.log(`${counted.passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(failed === 0 && counted.passed > 0 && counted.status === 0 ? 0 : 1)

function step(name, args) {
  const started = Date.now()
  const result = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (result.status !== 0) {
    console.error(`${name}: failed`)
    console.log('0 passed, 1 failed, 0 skipped')
    process.exit(1)
  }
  console.log(`${name}: ok (${((Date.now() - started) / 1000).toFixed(1)} s)`)
}

/** Tests of whole programs mostly wait, so they run alongside the others; their output follows. */
async function runLanes() {
  const waiting = [
    ['test/browser/'],
    ['test/clients/', 'test/sdk/'],
    ['test/e2e/', 'test/hostile-client/', 'test/proxy/', 'test/secrets/', 'test/shape/'],
  ]
  const beside = waiting.map((paths) => {
    let held = ''
    const keep = (chunk) => {
      held += chunk
    }
    return runTests(paths, keep).then((counted) => ({ ...counted, held }))
  })
  const ignored = waiting.flat().flatMap((path) => ['--path-ignore-patterns', `${path}**`])
  const others = await runTests(ignored)
  const lanes = [others, ...(await Promise.all(beside))]
  for (const { held } of lanes) if (held !== undefined) process.stderr.write(held)
  const sum = (name) => lanes.reduce((total, lane) => total + lane[name], 0)
  return {
    status: lanes.find(({ status }) => status !== 0)?.status ?? 0,
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    failures: lanes.flatMap(({ failures }) => [...failures]),
    output: lanes.map(({ output }) => output).join(''),
  }
}

/**
 * Runs a few failed files once more, each alone: four lanes on a small machine can starve a correct test.
 * The summary reports that; a test that fails alone has failed, and many failures are no accident.
 */
async function tryAgain(first) {
  const files = failedFiles(first.output)
  const count = [...files.values()].flat().length
  if (count === 0 || count !== first.failed || files.has('') || files.size > 4) return first
  const unsteady = []
  const failures = []
  for (const [file, names] of files) {
    console.error(`\nonce more, alone: ${file}`)
    const again = await runTests([file])
    if (again.status === 0) unsteady.push(...names.map((name) => `${file}: ${name}`))
    else failures.push(...names.map((name) => `(fail) ${file}: ${name}`))
  }
  const passed = first.passed + unsteady.length
  const failed = failures.length
  return { ...first, passed, failed, failures, unsteady, status: failed === 0 ? 0 : first.status }
}

/** Bun prints its own summary to standard error; the counts in it are the ones reported. */
function runTests(args, show = (chunk) => process.stderr.write(chunk)) {
  return new Promise((resolve) => {
    const child = spawn(bun, ['test', '--timeout', '120000', ...args], {
      cwd: root,
      // With these Bun prints only failures, and would not list what it skips.
      env: { ...process.env, TMPDIR: temporary, AGENT: '', CLAUDECODE: '', REPL_ID: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    child.stdout.on('data', show)
    child.stderr.on('data', (chunk) => {
      show(chunk)
      text += chunk
    })
    child.on('close', (status) => {
      const count = (word) =>
        Number(new RegExp(`^\\s*(\\d+) ${word}$`, 'm').exec(text.slice(-4000))?.[1] ?? 0)
      resolve({
        status,
        passed: count('pass'),
        failed: count('fail') + (status === 0 ? 0 : count('fail') === 0 ? 1 : 0),
        skipped: count('skip'),
        failures: new Set(text.match(/^\(fail\).*$/gm)),
        output: text,
      })
    })
  })
}
