import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toolLocks } from './check-lock.ts'
import { formatLicences } from './licences.ts'

const read = (path: string) => readFileSync(join(import.meta.dir, '../..', path), 'utf8')
const locks = () =>
  [JSON.parse(read('package-lock.json')), toolLocks.map((path) => JSON.parse(read(path)))] as const

test('the list of licences matches the lock files (npm run docs writes it)', () => {
  expect(read('docs/licences.md')).toBe(formatLicences(...locks()))
})

test('an added package appears in the list', () => {
  const [main, tools] = locks()
  const entry = { version: '9.9.9', license: 'WTFPL' }
  const more = { packages: { ...main.packages, 'node_modules/new-one': entry } }
  expect(formatLicences(more, tools)).toContain('**WTFPL** (1): new-one 9.9.9')
})
