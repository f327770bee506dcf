/** Installs an agent with the npm client into a cache that is not the repository's. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Agent } from './agent.ts'

const cacheHome = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
const cacheDir = process.env.PRIVATEMODE_AGENT_CACHE ?? join(cacheHome, 'privatemode-agents')
const limitMs = 300_000

/** The folder with the agent, or undefined if npm cannot install it. No install script runs. */
export async function installAgent({ package: name, version }: Agent): Promise<string | undefined> {
  const folder = join(cacheDir, `${name.replace(/\W+/g, '-')}-${version}`)
  const stamp = join(folder, 'installed')
  if (existsSync(stamp)) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
  const child = Bun.spawn(['npm', 'install', ...flags, `${name}@${version}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: limitMs,
  })
  if ((await child.exited) !== 0) return undefined
  writeFileSync(stamp, '')
  return folder
}
