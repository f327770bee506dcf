/**
 * `npm run task -- build:site [--serve]`: the documentation as static pages, in dist/site. Dead links fail the build. The generator
 * has its own lock file in docs/ and is installed when first needed. --serve shows the pages at a local address and
 * follows changes. SITE_SOURCE_URL is the base URL for links to source files, SITE_BASE the path that the site is served under.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

const docs = join(import.meta.dir, '../docs')

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd: docs, stdio: ['inherit', 'inherit', 'inherit'] })
  const code = await child.exited
  if (code !== 0) process.exit(code)
}

const lock = join(docs, 'package-lock.json')
const installed = join(docs, 'node_modules/.package-lock.json')
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  // Not `npm ci`: it fails where a registry lacks the bundler's optional packages for other platforms.
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run(['npm', 'install', '--no-save', ...quiet])
}
const action = process.argv.includes('--serve') ? 'dev' : 'build'
await run(['node', 'node_modules/vitepress/bin/vitepress.js', action])
