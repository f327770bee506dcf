/** Makes the checkout runnable: installs pinned packages when they are missing or out of date. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasPackages } from './installed-packages.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Installs what is needed (`runtime` or `all`), unless they are there, by us or by the caller's own `npm ci`. */
export function install(needed) {
  requireNode()
  // A checkout that has the test tools keeps them.
  const hasTools = existsSync(join(root, 'node_modules', '@biomejs'))
  const mode = hasTools ? 'all' : needed
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const lock = createHash('sha256').update(lockText).digest('hex')
  const stampPath = join(root, 'node_modules', '.privatemode-install')
  const stamp = existsSync(stampPath) ? readFileSync(stampPath, 'utf8').split(' ') : []
  if (stamp[0] === lock && (stamp[1] === 'all' || stamp[1] === mode)) return
  const recordPath = join(root, 'node_modules', '.package-lock.json')
  if (existsSync(recordPath) && hasPackages(lockText, readFileSync(recordPath, 'utf8'), mode)) {
    writeFileSync(stampPath, `${lock} ${mode}`)
    return
  }
  // Standard output belongs to the program that runs next.
  console.error(
    `Installing packages (${mode === 'all' ? 'with test tools, about 740 MB' : 'about 330 MB'}), once …`,
  )
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  if (mode === 'runtime') args.push('--omit=dev')
  const result = spawnSync('npm', args, {
    cwd: root,
    stdio: ['inherit', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0)
    fail(
      'npm could not install the packages: check the network or your registry setting, then run the same command again',
    )
  writeFileSync(stampPath, `${lock} ${mode}`)
}

/** The Bun that the lock file pins. It is called by path, so that no install script has to run. */
export function bunPath() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const folder = join(root, 'node_modules', '@oven')
  const names = existsSync(folder) ? readdirSync(folder) : []
  const name = names.find((n) => n.startsWith(`bun-${platform}-`))
  if (name === undefined)
    fail(
      `no Bun runtime for ${process.platform}-${process.arch}: this system is not supported; Linux, macOS and Windows on x64 and arm64 are`,
    )
  return join(folder, name, 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun')
}

export function fail(message) {
  console.error(`error: ${message}`)
  process.exit(1)
}

function requireNode() {
  if (Number(process.versions.node.split('.')[0]) < 20)
    fail(`Node ${process.versions.node} is too old: install Node 20 or later`)
}
