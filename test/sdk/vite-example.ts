/** The React example as its users build it: with Vite, against the installed package. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SuiteConfig } from './case.ts'
import { type InstalledPackage, run } from './packed-package.ts'

const example = fileURLToPath(new URL('../../examples/react', import.meta.url))
const types: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript' }

/** Builds into a folder and gives its path. Without a configuration it is a build for production. */
export async function buildReactExample(
  installed: InstalledPackage,
  vitePath: string,
  config?: SuiteConfig,
): Promise<string> {
  const folder = join(installed.project, config === undefined ? 'react-production' : 'react')
  copyExample(example, folder)
  const packages = dirname(dirname(dirname(vitePath)))
  for (const name of ['react', 'react-dom', 'scheduler']) {
    link(join(packages, name), join(folder, 'node_modules', name))
  }
  const env = {
    VITE_ENDPOINT: config?.endpoint ?? 'https://gateway.example',
    VITE_API_KEY: config?.apiKey ?? 'key',
    VITE_LOG_KEY: config?.logKey ?? 'log',
    VITE_SOFTWARE_ROOT: config?.softwareRoot ?? '',
  }
  const { code, output } = await run(['node', vitePath, 'build'], folder, env)
  if (code !== 0) throw new Error(`vite build failed: ${output}`)
  return join(folder, 'dist')
}

/** Its own files: who ran it here has installed packages in it, too. */
export function copyExample(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('/node_modules') })
}

/** The text of every script that a build made. */
export function scriptsIn(built: string): string {
  const names = readdirSync(built, { recursive: true, encoding: 'utf8' })
  const scripts = names.filter((name) => name.endsWith('.js'))
  return scripts.map((name) => readFileSync(join(built, name), 'utf8')).join('\n')
}

export function serveFolder(folder: string) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const path = pathname === '/' ? '/index.html' : pathname
      const file = Bun.file(join(folder, path))
      if (!(await file.exists())) return new Response(null, { status: 404 })
      const type = types[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
      return new Response(file, { headers: { 'content-type': type } })
    },
  })
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
}
