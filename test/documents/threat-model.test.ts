/** The threat model names a test for each finding; all of them exist. */
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gatewayWords } from '../hostile/gateway-words.ts'
import { attacks } from '../hostile-client/attacks.ts'
import { billTricks } from '../hostile-client/bill-tricks.ts'
import { peopleTricks } from '../hostile-client/people-tricks.ts'

const root = join(import.meta.dir, '../..')
const markdown = readFileSync(join(root, 'docs/threat-model.md'), 'utf8')
/** Rows of the tables that end in a column of tests, header and rule left out. */
const rows = [...markdown.matchAll(/^\|[^\n]*\| test \|\n\|[-|]+\|\n((?:\|[^\n]*\|\n)+)/gm)]
  .flatMap(([, body]) => body?.trimEnd().split('\n') ?? [])
  .map((row) => ({ finding: row.split('|')[1]?.trim() ?? '', tests: row.split('|').at(-2) ?? '' }))
const namesIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

test('each finding names tests, and each of them exists', () => {
  expect(rows.length).toBeGreaterThan(35)
  const exists = (name: string) =>
    ['', 'apps/gateway/src'].some((folder) => existsSync(join(root, folder, name)))
  const lacking = rows.filter(({ tests }) => {
    const files = namesIn(tests).filter((name) => name.endsWith('.test.ts'))
    return files.length === 0 || !files.every(exists)
  })
  expect(lacking).toEqual([])
})

test('each part of the hostile programs that it names plays something', () => {
  const words = [...markdown.matchAll(/`npm run task -- hostile --only (\w+)`/g)]
  expect(words.length).toBeGreaterThan(0)
  const tricks = [...attacks, ...billTricks, ...peopleTricks, ...gatewayWords]
  for (const [, word = ''] of words)
    expect([word, tricks.some(({ name }) => name.includes(word))]).toEqual([word, true])
})
