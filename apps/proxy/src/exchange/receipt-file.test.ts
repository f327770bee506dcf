import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReceiptFile } from './receipt-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-receipts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const receipt = (record: string) =>
  new TextEncoder().encode(JSON.stringify({ record, rest: 'r', signature: 's' }, null, 2))
const fail = (error: unknown) => {
  throw error
}
const line = (record: string) => `{"record":"${record}","rest":"r","signature":"s"}\n`

test('receipts are lines of a file readable only by its owner, whatever its mode was before', () => {
  const path = join(folder, 'lines.jsonl')
  writeFileSync(path, line('old'), { mode: 0o644 })
  const file = openReceiptFile(path, fail)
  file.add(receipt('a'))
  file.add(receipt('b'))
  file.stop()
  expect(readFileSync(path, 'utf8')).toBe(line('old') + line('a') + line('b'))
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('anything that is not a receipt is dropped', () => {
  const path = join(folder, 'odd.jsonl')
  const file = openReceiptFile(path, fail)
  const odd = ['', '{}', 'null', '{"record":1,"rest":"","signature":""}', 'x'.repeat(20_000)]
  for (const text of odd) file.add(new TextEncoder().encode(text))
  file.add(receipt('x'.repeat(16 * 1024)))
  const more = { record: 'a', rest: 'r', signature: 's', prompt: 'secret' }
  file.add(new TextEncoder().encode(JSON.stringify(more)))
  file.stop()
  expect(readFileSync(path, 'utf8')).toBe(line('a'))
})

test('full files are rotated and a bounded number is kept, even with several writers', () => {
  const path = join(folder, 'full.jsonl')
  const limits = { bytes: 40, kept: 2 }
  const files = [openReceiptFile(path, fail, limits), openReceiptFile(path, fail, limits)]
  for (let turn = 0; turn < 8; turn++) {
    files[turn % 2]?.add(receipt(`turn ${turn}`))
    files[turn % 2]?.flush()
  }
  for (const file of files) file.stop()
  const names = readdirSync(folder).filter((name) => name.startsWith('full'))
  expect(names.sort()).toEqual(['full.jsonl', 'full.jsonl.1', 'full.jsonl.2'])
  expect(readFileSync(path, 'utf8')).toBe(line('turn 7'))
  expect(readFileSync(`${path}.1`, 'utf8')).toBe(line('turn 6'))
  expect(statSync(`${path}.2`).mode & 0o777).toBe(0o600)
})

test('an unwritable file is refused at startup', () => {
  const path = join(folder, 'missing', 'file')
  expect(() => openReceiptFile(path, fail)).toThrow(`cannot write receipts to ${path}`)
})
