import { expect, test } from 'bun:test'
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { freshDataDir } from '../testing/test-data-dir.ts'
import { openDatabase } from './open-database.ts'

test('acknowledged writes survive kill -9', async () => {
  const directory = await freshDataDir()
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/testing/write-until-killed.ts`], {
    env: { ...process.env, DATA_DIR: directory },
    stdout: 'pipe',
  })
  let acknowledged = 0
  for await (const chunk of child.stdout) {
    const lines = Buffer.from(chunk).toString().trim().split('\n')
    acknowledged = Number(lines.at(-1)) || acknowledged
    if (acknowledged > 200) child.kill('SIGKILL')
  }
  await child.exited
  const database = await openDatabase({ kind: 'embedded', directory })
  const [row] = await database.query<{ count: number }>(
    `select count(*) as count from accounts where name = 'written'`,
  )
  expect(acknowledged).toBeGreaterThan(200)
  expect(row?.count).toBeGreaterThanOrEqual(acknowledged)
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

test('a second process cannot open the same directory, and can after the first is gone', async () => {
  const directory = await freshDataDir()
  const first = await openDatabase({ kind: 'embedded', directory })
  const second = openDatabase({ kind: 'embedded', directory })
  expect(await rejection(second)).toMatchObject({ code: 'data_dir_in_use' })
  await first.close()
  const third = await openDatabase({ kind: 'embedded', directory })
  await third.close()
  rmSync(directory, { recursive: true, force: true })
})

test('a transaction that fails leaves nothing behind', async () => {
  const directory = await freshDataDir()
  const database = await openDatabase({ kind: 'embedded', directory })
  const failing = database.transaction(async ({ query }) => {
    await query(`insert into accounts (id, name) values ('acct_x', 'x')`)
    throw new Error('stop')
  })
  expect(await thrown(failing)).toThrow('stop')
  expect(await database.query(`select 1 from accounts where id = 'acct_x'`)).toEqual([])
  await database.query('insert into schema_versions (version, name) values (1000, $1)', ['later'])
  await database.close()
  // A database of a newer program is refused.
  const later = openDatabase({ kind: 'embedded', directory })
  expect(await rejection(later)).toMatchObject({ code: 'database_newer' })
  rmSync(directory, { recursive: true, force: true })
})

test('its files are private to their owner, including earlier and later ones', async () => {
  const directory = await freshDataDir()
  const elsewhere = mkdtempSync(join(tmpdir(), 'gateway-elsewhere-'))
  writeFileSync(join(elsewhere, 'file'), '', { mode: 0o644 })
  chmodSync(join(elsewhere, 'file'), 0o644)
  symlinkSync(join(elsewhere, 'file'), join(directory, 'link'))
  for (const path of entriesOf(directory)) chmodSync(path, lstatSync(path).isFile() ? 0o666 : 0o777)
  chmodSync(directory, 0o777)
  const before = process.umask(0o000)
  const database = await openDatabase({ kind: 'embedded', directory })
  await database.script('create table later (id integer); insert into later values (1)')
  await database.query('checkpoint')
  expect(modesIn(directory)).toEqual(['file 600', 'folder 700'])
  expect(lstatSync(join(elsewhere, 'file')).mode & 0o777).toBe(0o644)
  await database.close()
  expect(modesIn(directory)).toEqual(['file 600', 'folder 700'])
  process.umask(before)
  for (const path of [directory, elsewhere]) rmSync(path, { recursive: true, force: true })
})

function modesIn(directory: string): string[] {
  const modes = [directory, ...entriesOf(directory)].map((path) => {
    const entry = lstatSync(path)
    return [entry.isFile() ? 'file' : 'folder', (entry.mode & 0o777).toString(8)].join(' ')
  })
  return [...new Set(modes)].toSorted()
}

function entriesOf(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return names
    .map((name) => join(directory, name))
    .filter((path) => !lstatSync(path).isSymbolicLink())
}
