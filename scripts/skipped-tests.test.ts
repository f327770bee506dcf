import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explainSkipped } from './skipped-tests.mjs'

const repository = join(import.meta.dir, '..')
const skips = /\b(?:test|describe)\.(?:skip|skipIf|todo|todoIf|if)\b/
const helper = join(repository, 'packages/service/src/testing/conditional-tests.ts')

test('tests that a Bun run skipped are listed with their reason, and those without one are found', () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-skipped-'))
  try {
    writeFileSync(
      join(folder, 'some.test.ts'),
      `import { test } from 'bun:test'
       import { unlessMissing } from ${JSON.stringify(helper)}
       const missing = unlessMissing('helm (or tofu) is not installed')
       test('runs', () => {})
       unlessMissing(undefined).test('runs too', () => {})
       missing.test('a chart renders', () => {})
       missing.describe('the chart', () => {
         test('is small', () => {})
         test('is right', () => {})
       })
       test.skip('nobody says why', () => {})`,
    )
    const { stderr } = Bun.spawnSync([process.execPath, 'test', folder], {
      env: { PATH: process.env.PATH ?? '' },
    })
    expect(stderr.toString()).toContain(' 2 pass')
    expect(explainSkipped(stderr.toString())).toEqual({
      lines: ['skipped (helm (or tofu) is not installed): a chart renders; the chart (2)'],
      unexplained: ['nobody says why'],
      count: 4,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('every conditional test goes through the helper that requires a reason', () => {
  const conditional = ['packages', 'apps', 'test', 'scripts'].flatMap((top) =>
    [...new Bun.Glob(`${top}/**/*.ts`).scanSync({ cwd: repository })]
      .filter((file) => !file.includes('node_modules') && !import.meta.path.endsWith(file))
      .filter((file) => skips.test(readFileSync(join(repository, file), 'utf8'))),
  )
  expect(conditional).toEqual(['packages/service/src/testing/conditional-tests.ts'])
})
