/** Fetches packages that package-lock.json pins and refuses other bytes; ignores what npm installed. */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { toolCache } from './go-tools.ts'

export const repository = join(import.meta.dir, '../..')

export type LockEntry = {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly link?: boolean
  readonly resolved?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export type Lock = { readonly packages: Readonly<Record<string, LockEntry>> }

export function readLock(): Lock {
  return JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as Lock
}

/** The folder of a locked package, unpacked from an archive that had the locked hash. */
export function lockedFolder(
  name: string,
  lock = readLock(),
  lockPath = `node_modules/${name}`,
): string {
  const entry = lock.packages[lockPath]
  if (entry?.integrity === undefined) throw new Error(`package-lock.json does not pin ${lockPath}`)
  const folder = join(toolCache(), `${name.replaceAll('/', '+')}-${entry.version}`)
  if (!existsSync(folder)) unpack(name, entry.version, entry.integrity, folder)
  return folder
}

function unpack(name: string, version: string, integrity: string, folder: string): void {
  mkdirSync(toolCache(), { recursive: true })
  const work = mkdtempSync(`${folder}.`)
  try {
    run(['npm', 'pack', `${name}@${version}`, '--silent', '--pack-destination', work])
    const archive = readdirSync(work).find((file) => file.endsWith('.tgz'))
    if (archive === undefined) throw new Error(`npm left no archive of ${name}`)
    const bytes = readFileSync(join(work, archive))
    const seen = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    if (seen !== integrity)
      throw new Error(`${name} is ${seen}, package-lock.json has ${integrity}`)
    run(['tar', '-xzf', join(work, archive), '-C', work])
    renameSync(join(work, 'package'), folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Runs a program to its end and returns its output; on failure throws an error that contains it. */
export function run(
  command: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], options)
  if (exitCode === 0) return stdout.toString()
  throw new Error(`${command.slice(0, 3).join(' ')} failed: ${stderr.toString().trim()}`)
}
