import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { goModules, goTools } from './go-tools.ts'

test('without Go, what the charts are tested with is missing, and nothing is called checked', () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-setup-'))
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync(
      [process.execPath, join(import.meta.dir, 'setup.ts')],
      { env: { HOME: folder, XDG_CACHE_HOME: folder, PATH: folder } },
    )
    expect(exitCode).toBe(1)
    expect(stdout.toString()).toContain('helm: missing, Go is not installed')
    const names = [
      ...Object.keys(goTools),
      ...Object.keys(goModules).map((name) => `schemas of ${name}`),
    ]
    expect(stderr.toString()).toBe(
      `error: missing ${names.join(', ')}; see the reasons above (building them needs Go 1.26 and a network)\n`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
