/** Documents that refer to the code name only what exists. */
import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const repository = resolve(import.meta.dir, '../..')

test('every file of the reading list for auditors exists', () => {
  const rows = readFileSync(join(repository, 'docs/audit.md'), 'utf8').split('\n')
  for (const row of rows.filter((line) => line.startsWith('| `'))) {
    let folder = ''
    for (const [, path = ''] of row.matchAll(/`([a-z0-9/.-]+)`/g)) {
      // A bare name is next to the path before it.
      const whole = path.includes('/') ? path : join(folder, path)
      folder = path.includes('/') ? dirname(path) : folder
      expect(`${whole}: ${existsSync(join(repository, whole))}`).toBe(`${whole}: true`)
    }
  }
})

test('the trusted core stays an afternoon of reading: at most 5,000 lines', () => {
  const folder = join(repository, 'apps/worker/src')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testing/'),
  )
  const lines = sources.map((name) => readFileSync(join(folder, name), 'utf8').split('\n').length)
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(5_000)
})

test('decisions are numbered without gaps, each with a status and a date', () => {
  const folder = join(repository, 'docs/decisions')
  const names = readdirSync(folder).sort()
  for (const [index, name] of names.entries()) {
    const number = String(index + 1).padStart(4, '0')
    expect(name).toStartWith(`${number}-`)
    const text = readFileSync(join(folder, name), 'utf8')
    expect(text).toStartWith(`# ${number} `)
    expect(text).toMatch(/^Status: (accepted|superseded by \d{4}), \d{4}-\d\d-\d\d\.$/m)
  }
})
