/** The package as users get it: built, packed, and installed from its tarball into an empty project. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPackage } from '../../packages/sdk/build.ts'

export type InstalledPackage = {
  /** A project with nothing but the package and its run-time dependencies. */
  readonly project: string
  readonly tarball: string
  /** What was packed. */
  readonly dist: string
  remove(): void
}

const root = fileURLToPath(new URL('../..', import.meta.url))

export async function installPackage(): Promise<InstalledPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-sdk-'))
  const project = join(folder, 'project')
  const tarballs = join(folder, 'tarballs')
  mkdirSync(project)
  mkdirSync(tarballs)
  const dist = await buildPackage(join(folder, 'dist'))
  const needed = dependenciesOf(dist).map((name) => join(root, 'node_modules', name))
  await npm(['pack', '--ignore-scripts', '--pack-destination', tarballs, dist, ...needed], folder)
  const packed = readdirSync(tarballs).map((name) => join(tarballs, name))
  writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}\n')
  // No registry is used: every dependency that the package names must be among the tarballs.
  await npm(['install', '--offline', '--ignore-scripts', '--no-audit', ...packed], project)
  const tarball = packed.find((path) => path.includes('privatemode-sdk-0')) ?? ''
  return { project, tarball, dist, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** All that a package needs at run time, as its own description says. */
function dependenciesOf(folder: string, known = new Set<string>()): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    if (known.has(name)) continue
    known.add(name)
    dependenciesOf(join(root, 'node_modules', name), known)
  }
  return [...known]
}

/** Without waiting in the foreground: servers of the same process must go on answering. */
export async function run(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: string }> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 180_000,
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, output: out + err }
}

async function npm(args: readonly string[], cwd: string): Promise<void> {
  const { code, output } = await run(['npm', '--no-fund', '--loglevel=error', ...args], cwd)
  if (code !== 0) throw new Error(`npm ${args[0]} failed: ${output}`)
}
