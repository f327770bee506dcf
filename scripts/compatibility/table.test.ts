/** The list of checks is complete, and tests name only checks that exist. */
import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { areas, checkCount } from './checks.ts'
import { findNamedTests, formatTable } from './table.ts'

test('there are ninety checks, numbered without gaps', () => {
  expect(checkCount).toBe(90)
  let next = 1
  for (const area of areas) {
    expect(area.first).toBe(next)
    next += area.checks.length
  }
})

test('tests name only checks that exist', async () => {
  const tests = await findNamedTests(fileURLToPath(new URL('../..', import.meta.url)))
  expect(tests.length).toBeGreaterThan(50)
  for (const { check, file } of tests)
    expect([file, check >= 1 && check <= 90]).toEqual([file, true])
})

test('a check is shown with the most complete level it is tested at', () => {
  const table = formatTable([
    { check: 1, file: 'test/e2e/a.test.ts' },
    { check: 1, file: 'apps/worker/b.test.ts' },
    { check: 2, file: 'apps/worker/b.test.ts' },
    { check: 3, file: 'test/e2e/a.test.ts', reason: 'no GPU' },
    { check: 85, file: 'test/agents/agents.checks.ts' },
  ])
  expect(table).toContain('| 1 | a bearer key works on every endpoint | system |')
  expect(table).toMatch(/\| 2 \|.*\| core \|/)
  expect(table).toMatch(/\| 3 \|.*\| cannot run here: no GPU \|/)
  expect(table).toMatch(/\| 85 \|.*\| system, by `npm run task -- test:agents` \|/)
  expect(table).toMatch(/\| 4 \|.*\| not yet \|/)
})
