/** `npm test`: set-up, types, lint, then every test; the last line counts them. */
import { spawn, spawnSync } from 'node:child_process'
import { bunPath, install, root } from './setup.mjs'

install('all')
const bun = bunPath()
const wanted = process.argv.slice(2)
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
const counted = await runTests(wanted)
console.log(
  `${counted.passed} passed, ${counted.failed} failed${counted.skipped ? `, ${counted.skipped} skipped` : ''}`,
)
process.exit(counted.failed === 0 && counted.passed > 0 && counted.status === 0 ? 0 : 1)

function step(name, args) {
  const started = Date.now()
  const result = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (result.status !== 0) {
    console.error(`${name}: failed`)
    console.log('0 passed, 1 failed')
    process.exit(1)
  }
  console.log(`${name}: ok (${((Date.now() - started) / 1000).toFixed(1)} s)`)
}

/** Bun prints its own summary to standard error; the counts in it are the ones reported. */
function runTests(args) {
  return new Promise((resolve) => {
    const child = spawn(bun, ['test', '--timeout', '60000', ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    let tail = ''
    child.stderr.on('data', (chunk) => {
      process.stderr.write(chunk)
      tail = (tail + chunk).slice(-4000)
    })
    child.on('exit', (status) => {
      const count = (word) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, 'm').exec(tail)?.[1] ?? 0)
      resolve({
        status,
        passed: count('pass'),
        failed: count('fail') + (status === 0 ? 0 : count('fail') === 0 ? 1 : 0),
        skipped: count('skip'),
      })
    })
  })
}
