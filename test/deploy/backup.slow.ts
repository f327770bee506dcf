/** Backup and restore as described in docs/operations.md: afterwards keys still work. */
import { expect, test } from 'bun:test'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Gateway, parseSettings, startGateway } from '@privatemode/gateway'
import { unlessMissing } from '@privatemode/service/testing'
import { findPostgres, startPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'

const token = 'admin-token-for-tests-0123456789abcdef'
const registerToken = 'register-token-for-tests-0123456789abcdef'

test('a copy of the folder of the embedded database is a backup', () =>
  inFolder(async (folder) => {
    const [data, backup] = [join(folder, 'data'), join(folder, 'backup')]
    const key = await withGateway(['--dataDir', data], createKey)
    cpSync(data, backup, { recursive: true })
    rmSync(data, { recursive: true })
    // A restore loses only keys created after the backup.
    const later = await withGateway(['--dataDir', data], createKey)
    rmSync(data, { recursive: true })
    cpSync(backup, data, { recursive: true })
    await withGateway(['--dataDir', data], async (gateway) => {
      expect(await opens(gateway, key)).toBe(true)
      expect(await opens(gateway, later)).toBe(false)
    })
  }))

const bin = findPostgres()
const canDump = bin !== undefined && existsSync(join(bin, 'pg_dump'))
const noDump = canDump ? undefined : 'no pg_dump; set POSTGRES_BIN to a folder that has it'

unlessMissing(noDump).test('pg_dump of a running server, restored into another, is a backup', () =>
  inFolder(async (folder) => {
    const dump = join(folder, 'gateway.dump')
    const tool = (name: string) => join(bin ?? '', name)
    const [server, other] = await Promise.all([startPostgres(), startPostgres()])
    try {
      const key = await withGateway(['--databaseUrl', server.url], async (gateway) => {
        const made = await createKey(gateway)
        await run([tool('pg_dump'), '--format=custom', '--file', dump, server.url])
        return made
      })
      await server.kill()
      await run([tool('pg_restore'), '--no-owner', '--exit-on-error', '-d', other.url, dump])
      await withGateway(['--databaseUrl', other.url], async (gateway) => {
        expect(await opens(gateway, key)).toBe(true)
      })
    } finally {
      await server.stop().catch(() => {})
      await other.stop()
    }
  }),
)

async function withGateway<T>(args: string[], use: (gateway: Gateway) => Promise<T>): Promise<T> {
  const tokens = ['--adminToken', token, '--registerToken', registerToken]
  const all = ['--port', '0', ...tokens, '--logLevel', 'error', ...args]
  const parsed = parseSettings({ args: all, env: {} })
  if (parsed.kind !== 'settings') throw new Error('no settings')
  const gateway = await startGateway(parsed.settings)
  try {
    return await use(gateway)
  } finally {
    await gateway.stop()
  }
}

async function createKey(gateway: Gateway): Promise<string> {
  const response = await fetch(`${gateway.url}/privatemode/v1/admin/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"name":"backup"}',
  })
  return ((await response.json()) as { secret: string }).secret
}

async function opens(gateway: Gateway, key: string): Promise<boolean> {
  const response = await fetch(`${gateway.url}/privatemode/v1/directory`, {
    headers: { authorization: `Bearer ${key}` },
  })
  await response.text()
  return response.status === 200
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stderr: 'pipe' })
  const [text, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
  if (code !== 0) throw new Error(text)
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-backup-'))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
