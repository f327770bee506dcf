import { expect, test } from 'bun:test'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rejection, thrown } from '../../../../test/rejection.ts'
import { freshDataDir } from '../testing/test-data-dir.ts'
import { openTestDatabase } from '../testing/test-database.ts'
import { openEmbeddedDatabase } from './embedded-database.ts'
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
  expect(await rejection(later)).toMatchObject({
    code: 'database_newer',
    message: expect.stringMatching(
      /^the database has schema 1000, this gateway knows \d+; update the gateway, or restore the backup taken before the upgrade$/,
    ),
  })
  rmSync(directory, { recursive: true, force: true })
})

test('an error of the database keeps its code, and the database goes on', async () => {
  const database = await openTestDatabase()
  const insert = () => database.query(`insert into accounts (id, name) values ('acct_x', 'x')`)
  await insert()
  expect(await rejection(insert())).toMatchObject({ code: '23505' })
  expect(await database.query(`select name from accounts where id = 'acct_x'`)).toEqual([
    { name: 'x' },
  ])
  await database.close()
  expect(await rejection(insert())).toMatchObject({ code: 'database_failed' })
})

test('values keep their types on the way to the database and back', async () => {
  const database = await openTestDatabase()
  const bytes = Buffer.from('a short buffer is a part of a larger one')
  const at = new Date('2026-11-17T00:00:00Z')
  const [row] = await database.query(
    `select $1::bytea as bytes, $2::timestamptz as at, $3::int8 as count, $4::jsonb as json, $5::text as missing`,
    [bytes, at, 2 ** 40, JSON.stringify({ a: [1] }), null],
  )
  expect(row).toEqual({
    ...{ bytes: new Uint8Array(bytes), at, count: 2 ** 40, json: { a: [1] }, missing: null },
  })
  await database.close()
})

test('queries wait for a transaction in progress, and this thread for neither', async () => {
  const database = await openTestDatabase()
  const order: string[] = []
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const adding = database.transaction(async ({ query }) => {
    await query(`insert into accounts (id, name) values ('acct_x', 'x')`)
    await query('select count(*) from generate_series(1, 2000000)')
    order.push('transaction')
  })
  const counting = database.query<{ count: number }>(
    `select count(*) from accounts where id = 'acct_x'`,
  )
  const [row] = await counting
  order.push('query')
  await adding
  clearInterval(timer)
  expect(row?.count).toBe(1)
  expect(order).toEqual(['transaction', 'query'])
  expect(turns).toBeGreaterThan(5)
  await database.close()
})

test('the memory that creating a database takes is not kept', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'privatemode-new-database-'))
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/testing/open-new-database.ts`], {
    env: { ...process.env, DATA_DIR: directory },
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const nextLine = async () => (await lines.read()).value?.trim()
  expect(await nextLine()).toBe('open')
  // 280 MiB, or 660 if the serving thread had created it.
  let keptMiB = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < 40 && keptMiB > 450; turn++) {
    child.stdin.write('?\n')
    await child.stdin.flush()
    keptMiB = Number(await nextLine())
    if (keptMiB > 450) await Bun.sleep(250)
  }
  expect(keptMiB).toBeLessThan(450)
  child.stdin.end()
  await child.exited
  rmSync(directory, { recursive: true, force: true })
}, 60_000)

test('a thread that fails fails all queries, and says so once', async () => {
  const directory = await freshDataDir()
  const lost: string[] = []
  const failing = new URL('./testing/failing-thread.ts', import.meta.url)
  const { promise: told, resolve } = Promise.withResolvers<void>()
  const onLost = ({ message }: Error) => {
    lost.push(message)
    resolve()
  }
  const database = await openEmbeddedDatabase(directory, onLost, failing)
  const queries = [database.query('select 1'), database.query('select 2')]
  for (const query of queries) {
    expect(await rejection(query)).toMatchObject({ code: 'database_failed' })
  }
  await told
  const after = await rejection(database.query('select 3'))
  expect(after).toMatchObject({ code: 'database_failed' })
  await database.close()
  expect(lost).toEqual([expect.stringContaining('the memory of the thread is exhausted')])
  // The lock was released, and the thread touched nothing.
  const again = await openDatabase({ kind: 'embedded', directory })
  await again.close()
  rmSync(directory, { recursive: true, force: true })
})

test('a log that cannot be written ends the database, and nothing acknowledged is lost', async () => {
  const directory = await freshDataDir()
  const { promise: lost, resolve: onLost } = Promise.withResolvers<Error>()
  const database = await openEmbeddedDatabase(directory, onLost)
  const insert = (id: string) =>
    database.query(`insert into accounts (id, name) values ($1, 'written')`, [id])
  await insert('acct_before')
  // The next segment of the log is written to this name first.
  const nextSegment = join(directory, 'pglite/pg_wal/xlogtemp.42')
  mkdirSync(nextSegment)
  await database.query('select pg_switch_wal()')
  const failing = ['acct_a', 'acct_b', 'acct_c'].map((id) => rejection(insert(id)))
  const transaction = rejection(database.transaction(({ query }) => query('select 1')))
  for (const failure of [...failing, transaction]) {
    expect(await failure).toMatchObject({ code: 'database_failed' })
  }
  expect((await lost).message).toContain('could not create file "pg_wal/xlogtemp.42"')
  await database.close()
  rmdirSync(nextSegment)
  const again = await openDatabase({ kind: 'embedded', directory })
  const kept = await again.query(`select id from accounts where name = 'written'`)
  expect(kept).toEqual([{ id: 'acct_before' }])
  await again.close()
  rmSync(directory, { recursive: true, force: true })
})

test('a directory that cannot be opened is reported, and not locked', async () => {
  const directory = await freshDataDir()
  writeFileSync(join(directory, 'pglite/global/pg_control'), 'nonsense')
  for (let attempt = 1; attempt <= 2; attempt++) {
    const opening = openDatabase({ kind: 'embedded', directory })
    const message = expect.stringMatching(/embedded database failed: .+ \(\d+ MiB free in .+\)$/)
    expect(await rejection(opening)).toMatchObject({ code: 'database_failed', message })
  }
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
