/** Documents that refer to the code name only what exists. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const repository = resolve(import.meta.dir, '../..')

/** The TypeScript sources below a path, or the file itself, without tests. */
function sourcesBelow(path: string): string[] {
  const whole = join(repository, path)
  if (!statSync(whole).isDirectory()) return [path]
  return readdirSync(whole, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testing/'),
    )
    .map((name) => join(path, name))
}

const countLines = (paths: Iterable<string>): number =>
  [...paths].reduce(
    (sum, path) => sum + readFileSync(join(repository, path), 'utf8').split('\n').length - 1,
    0,
  )

/** The paths in a table row or cell. A bare name is next to the path before it. */
function pathsIn(text: string): string[] {
  let folder = ''
  return [...text.matchAll(/`([a-z0-9/.-]+)`/g)].map(([, path = '']) => {
    if (!path.includes('/')) return join(folder, path)
    folder = dirname(path)
    return path
  })
}

describe('the reading list for auditors', () => {
  const guide = readFileSync(join(repository, 'docs/audit.md'), 'utf8')
  const rows = guide.split('\n').filter((line) => line.startsWith('| `'))
  const toRead = (row: string) => pathsIn(row.split('|')[1] ?? '').flatMap(sourcesBelow)

  test('names only what exists', () => {
    const missing = rows.flatMap(pathsIn).filter((path) => !existsSync(join(repository, path)))
    expect(missing).toEqual([])
  })

  test('contains every source file of the worker', () => {
    const listed = new Set(rows.flatMap(toRead))
    expect(sourcesBelow('apps/worker/src').filter((path) => !listed.has(path))).toEqual([])
  })

  test('states how long each part is, to a fifth', () => {
    const sections = guide.split(/^##+ /m).filter((text) => /^\d+\. /.test(text))
    const vendors = rows.filter((row) => row.includes(' lines) |'))
    expect([sections.length, vendors.length]).toEqual([8, 4])
    for (const part of [...sections, ...vendors]) {
      const stated = Number(part.match(/about ([\d,]+) lines/)?.[1]?.replace(',', ''))
      const lines = countLines(new Set(part.split('\n').flatMap(toRead)))
      const title = part.split('\n', 1)[0]
      expect([title, lines, Math.abs(lines - stated) <= lines / 5]).toEqual([title, lines, true])
    }
  })
})

test('the trusted core stays an afternoon of reading: at most 5,000 lines', () => {
  expect(countLines(sourcesBelow('apps/worker/src'))).toBeLessThanOrEqual(5_000)
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
