/** Installs packages of another ecosystem, with exact versions, into a cache that is not the repository's. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Ecosystem, Integration } from './integrations.ts'

const cacheHome = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
const cacheDir = join(cacheHome, 'privatemode-integrations')
const limitMs = 600_000

export type Installed = { readonly folder: string } | { readonly missing: string }

const programs: Record<Ecosystem, string> = { python: 'python3', go: 'go', npm: 'npm' }

const commands: Record<Ecosystem, (folder: string, packages: readonly string[]) => string[][]> = {
  python: (folder, packages) => [
    ['python3', '-m', 'venv', folder],
    [join(folder, 'bin', 'python3'), '-m', 'pip', 'install', '--quiet', '--no-input', ...packages],
  ],
  go: (_, packages) => [
    ['go', 'mod', 'init', 'example.com/integration'],
    ['go', 'get', ...packages],
  ],
  npm: (_, packages) => [
    ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages],
  ],
}

export async function install({ ecosystem, packages }: Integration): Promise<Installed> {
  const program = programs[ecosystem]
  if (Bun.which(program) === null) return { missing: `there is no ${program}` }
  const folder = join(cacheDir, packages.join('-').replace(/[^\w.]+/g, '-'))
  const stamp = join(folder, 'installed')
  if (existsSync(stamp)) return { folder }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (ecosystem === 'npm') writeFileSync(join(folder, 'package.json'), '{"private":true}')
  for (const command of commands[ecosystem](folder, packages)) {
    const child = Bun.spawn(command, {
      cwd: folder,
      env: { ...process.env, GOTOOLCHAIN: 'local' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: limitMs,
    })
    const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
    if (code !== 0) return { missing: `${command.slice(0, 4).join(' ')}: ${errors.slice(-600)}` }
  }
  writeFileSync(stamp, '')
  return { folder }
}
