import { beforeAll, expect, test } from 'bun:test'
import { rejection } from '../../../test/rejection.ts'
import { utf8 } from './bytes.ts'
import { formatStatement, parseStatement, type Statement } from './statement.ts'
import { softwareWorld } from './testing/software-world.ts'

let statement: Statement
beforeAll(async () => {
  statement = (await softwareWorld()).statement
})

const document = () => JSON.parse(new TextDecoder().decode(formatStatement(statement)))
const refused = async (value: unknown) =>
  expect(await rejection(parseStatement(utf8(JSON.stringify(value))))).toMatchObject({
    code: 'statement_malformed',
  })

test('a statement round-trips', async () => {
  expect(await parseStatement(formatStatement(statement))).toEqual(statement)
})

test('another version, an unknown field and a missing field are refused', async () => {
  await refused({ ...document(), version: 2 })
  await refused({ ...document(), extra: true })
  await refused({ ...document(), seal_key: { ...document().seal_key, extra: 1 } })
  for (const name of Object.keys(document())) {
    const { [name]: _, ...rest } = document()
    await refused(rest)
  }
})

test('a seal key with a wrong id is refused', async () => {
  await refused({ ...document(), seal_key: { ...document().seal_key, id: '00'.repeat(16) } })
})

test('keys of the wrong length or of another KEM are refused', async () => {
  await refused({ ...document(), receipt_key: 'AAAA' })
  await refused({ ...document(), seal_key: { ...document().seal_key, public_key: 'AAAA' } })
  await refused({ ...document(), seal_key: { ...document().seal_key, kem: 'X25519' } })
})

test('a time that is not a UTC instant is refused', async () => {
  for (const time of ['2026-02-30T00:00:00Z', '2026-02-03', '2026-02-03T00:00:00+01:00', 0]) {
    await refused({ ...document(), seal_key: { ...document().seal_key, expires_at: time } })
  }
})

test('duplicate models and duplicate tasks are refused', async () => {
  const [model] = document().models
  await refused({ ...document(), models: [{ ...model, tasks: ['generate', 'generate'] }] })
  await refused({
    ...document(),
    models: [model, { ...model, digest: `sha256:${'0'.repeat(64)}` }],
  })
})

test('a statement over 64 KiB is refused', async () => {
  const text = JSON.stringify(document())
  const padded = (length: number) => utf8(text + ' '.repeat(length - text.length))
  expect(await parseStatement(padded(64 * 1024))).toEqual(statement)
  const error = await rejection(parseStatement(padded(64 * 1024 + 1)))
  expect(error).toMatchObject({ code: 'statement_malformed' })
})
