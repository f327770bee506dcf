/** `npm run task -- test:deploy`: obtains the tools, builds everything that is published, and tests it for real. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from './locked-package.ts'

const step = (name: string, ...args: string[]) => {
  const started = Date.now()
  const { exitCode } = Bun.spawnSync([process.execPath, ...args], {
    cwd: repository,
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
