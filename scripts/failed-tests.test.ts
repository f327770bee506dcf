import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failedFiles } from './failed-tests.mjs'

test('each failure of a Bun run is listed once, under its file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-failed-'))
  try {
    const some = `import { describe, expect, test } from 'bun:test'
       test('right', () => {})
       describe('numbers', () => { test('wrong', () => expect(1).toBe(2)) })
       for (let at = 0; at < 30; at++) test('one of many ' + at, () => {})`
    writeFileSync(join(folder, 'some.test.ts'), some)
    writeFileSync(join(folder, 'other.test.ts'), some.replace('toBe(2)', 'toBe(1)'))
    const { stderr } = Bun.spawnSync([process.execPath, 'test'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '' },
    })
    const output = stderr.toString()
    expect(output).toContain('1 tests failed:')
    const names = ['numbers > wrong']
    expect([...failedFiles(output)]).toEqual([['some.test.ts', names]])
    // Lanes follow each other, each with its own list at the end.
    const other = output.replaceAll('some.test.ts', 'last.test.ts')
    expect([...failedFiles(output + other)]).toEqual([
      ['some.test.ts', names],
      ['last.test.ts', names],
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
