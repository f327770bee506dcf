/**
 * `npm run task -- test:npm [VERSION…]`: starting and stopping in a real terminal with several releases of npm: `npm start`
 * from this checkout, and `npx privatemode-proxy` from the packed package.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dir, '../..')
const cacheHome = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
const pinned = ['10.9.9', '11.21.1']
const chosen = process.argv.slice(2)
const tests = ['./test/e2e/stop.test.ts', './test/npm/npx.slow.ts']

const built = await run(['npm', 'run', '--silent', 'task', '--', 'build:npm'])
const failed = built === 0 ? [] : ['build:npm']
for (const version of built === 0 ? (chosen.length === 0 ? pinned : chosen) : []) {
  const bin = await installNpm(version)
  const PATH = `${bin}:${process.env.PATH}`
  console.log(`\nnpm ${version}`)
  if ((await run([process.execPath, 'test', '--timeout', '600000', ...tests], { PATH })) !== 0) {
    failed.push(version)
  }
}
console.log(failed.length === 0 ? 'passed' : `failed: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)

/** The folder of its programs. */
async function installNpm(version: string): Promise<string> {
  const folder = join(cacheHome, 'privatemode-npm', version)
  const bin = join(folder, 'node_modules/.bin')
  if (existsSync(join(bin, 'npm'))) return bin
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
  const code = await run(['npm', 'install', ...flags, `npm@${version}`], {}, folder)
  if (code !== 0) throw new Error(`npm ${version} could not be installed`)
  return bin
}

async function run(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = root,
): Promise<number> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return child.exited
}
