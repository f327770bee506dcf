/** `npm run task -- test:deploy`: obtains the tools, builds everything that is published, and tests it for real. */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repository } from './locked-package.ts'

// Tests leave unpacked packages behind; they go with this folder.
const temporary = mkdtempSync(join(tmpdir(), 'pm-deploy-'))
chmodSync(temporary, 0o711) // as root, tests run PostgreSQL as another user
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))

const step = (name: string, ...args: string[]) => {
  const started = Date.now()
  const { exitCode } = Bun.spawnSync([process.execPath, ...args], {
    cwd: repository,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  console.log(
    `${name}: ${exitCode === 0 ? 'ok' : 'failed'} (${Math.round((Date.now() - started) / 1000)} s)`,
  )
  if (exitCode !== 0) process.exit(1)
}

const slow = readdirSync(join(repository, 'test', 'deploy'))
  .filter((name) => name.endsWith('.slow.ts'))
  .map((name) => `./test/deploy/${name}`)
const isBuilt = process.argv.includes('--built')
step('tools', 'scripts/deploy/setup.ts')
if (!isBuilt) step('binaries', 'scripts/build-binaries.ts')
if (!isBuilt) step('images', 'scripts/build-images.ts')
if (!isBuilt) step('npm packages', 'scripts/build-npm.ts')
step('tests', 'test', '--timeout', '600000', ...slow, './test/chart', './scripts/deploy')
