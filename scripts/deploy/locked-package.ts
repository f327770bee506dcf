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
import { tmpdir } from 'node:os'
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

/** By integrity. */
const unpacked = new Map<string, string>()
let root: string | undefined

/**
 * The folder of a locked package, unpacked in this process from an archive that has the locked hash.
 * The cache keeps archives only: files that were unpacked earlier could have been changed since. The folder goes with the process.
 */
export function lockedFolder(
  name: string,
  lock = readLock(),
  lockPath = `node_modules/${name}`,
): string {
  const entry = lock.packages[lockPath]
  if (entry?.integrity === undefined) throw new Error(`package-lock.json does not pin ${lockPath}`)
  const known = unpacked.get(entry.integrity)
  if (known !== undefined) return known
  const archive = obtainArchive(name, entry.version, entry.integrity)
  const work = mkdtempSync(join(unpackedRoot(), 'package-'))
  const { exitCode, stderr } = Bun.spawnSync(['tar', '-xz', '-C', work], { stdin: archive })
  if (exitCode !== 0) throw new Error(`${name} cannot be unpacked: ${stderr.toString().trim()}`)
  const folder = join(work, 'package')
  unpacked.set(entry.integrity, folder)
  return folder
}

function unpackedRoot(): string {
  if (root !== undefined) return root
  const made = mkdtempSync(join(tmpdir(), 'privatemode-packages-'))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  root = made
  return made
}

/** The bytes of a package's archive, from the cache if those have the hash, otherwise from the registry. */
function obtainArchive(name: string, version: string, integrity: string): Uint8Array {
  const digest = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
  const path = join(
    toolCache(),
    `${name.replaceAll('/', '+')}-${version}-${digest.slice(0, 12)}.tgz`,
  )
  if (existsSync(path)) {
    const bytes = readFileSync(path)
    if (integrityOf(bytes) === integrity) return bytes
  }
  mkdirSync(toolCache(), { recursive: true })
  const work = mkdtempSync(`${path}.`)
  try {
    run(['npm', 'pack', `${name}@${version}`, '--silent', '--pack-destination', work])
    const archive = readdirSync(work).find((file) => file.endsWith('.tgz'))
    if (archive === undefined) throw new Error(`npm left no archive of ${name}`)
    const bytes = readFileSync(join(work, archive))
    const seen = integrityOf(bytes)
    if (seen !== integrity)
      throw new Error(`${name} is ${seen}, package-lock.json has ${integrity}`)
    renameSync(join(work, archive), path)
    return bytes
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function integrityOf(bytes: Uint8Array): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
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
