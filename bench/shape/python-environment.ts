/** Python with the classifiers' libraries, every file of them checked by its digest, made once. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const requirements = join(import.meta.dir, 'attack', 'requirements.txt')

export async function preparePython(folder: string): Promise<string> {
  const python = join(folder, 'bin', 'python3')
  const stamp = join(folder, 'installed')
  if (existsSync(stamp)) return python
  if (Bun.which('python3') === null) throw new Error('the attack needs python3 (3.11 or later)')
  rmSync(folder, { recursive: true, force: true })
  await run(['python3', '-m', 'venv', folder])
  const hashed = ['--require-hashes', '--only-binary', ':all:', '-r', requirements]
  await run([python, '-m', 'pip', 'install', '--quiet', '--no-input', ...hashed])
  writeFileSync(stamp, '')
  return python
}

async function run(command: string[]): Promise<void> {
  const code = await Bun.spawn(command, { stdio: ['ignore', 'inherit', 'inherit'] }).exited
  if (code !== 0) throw new Error(`${command.slice(0, 4).join(' ')} failed`)
}
