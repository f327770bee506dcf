/** The official Python clients in an environment of their own, made once and kept beside the packages. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const packages = ['openai==3.49.0', 'anthropic==2.8.0']
const root = join(import.meta.dir, '../..')
const folder = join(root, 'node_modules/.cache/privatemode-python')
const python = join(folder, 'bin', 'python3')
const stamp = join(folder, `installed-${packages.join('-')}`)
const installLimitMs = 180_000

export type Python = { readonly path: string } | { readonly missing: string }

/** The Python that has the clients, where it was made before. */
export function findPython(): string | undefined {
  return existsSync(stamp) ? python : undefined
}

/** The Python that has the clients, or the reason why there is none; nothing else is tried. */
export async function preparePython(): Promise<Python> {
  const path = python
  if (existsSync(stamp)) return { path }
  if (Bun.which('python3') === null) return { missing: 'there is no python3' }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, '..'), { recursive: true })
  if (!(await succeeds(['python3', '-m', 'venv', folder]))) {
    return { missing: 'python3 cannot make an environment' }
  }
  const install = ['-m', 'pip', 'install', '--quiet', '--no-input', '--retries', '1', ...packages]
  if (!(await succeeds([path, ...install]))) return { missing: 'pip cannot install the clients' }
  writeFileSync(stamp, '')
  return { path }
}

/** What the clients saw at an address, as their program printed it. */
export async function runPythonClients(
  python: string,
  args: readonly string[],
  caPath: string | undefined,
): Promise<Record<string, unknown>> {
  const program = join(import.meta.dir, 'python', 'official_clients.py')
  const child = Bun.spawn([python, program, ...args], {
    env: {
      PATH: process.env.PATH ?? '',
      ...(caPath === undefined ? {} : { SSL_CERT_FILE: caPath }),
    },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 150_000,
  })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`the Python clients failed: ${errors.slice(-2000)}`)
  return JSON.parse(output) as Record<string, unknown>
}

async function succeeds(command: string[]): Promise<boolean> {
  const quiet = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const
  return (await Bun.spawn(command, { ...quiet, timeout: installLimitMs }).exited) === 0
}
