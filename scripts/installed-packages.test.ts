import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasPackages } from './installed-packages.mjs'

const here = { os: [process.platform], cpu: [process.arch] }
const locked = {
  '': { name: 'checkout', version: '1.0.0' },
  'packages/own': { version: '1.0.0' },
  'node_modules/own': { resolved: 'packages/own', link: true },
  'node_modules/needed': { version: '2.0.0', integrity: 'sha512-a' },
  'node_modules/tool': { version: '3.0.0', integrity: 'sha512-b', dev: true },
  'node_modules/native': { version: '4.0.0', integrity: 'sha512-c', optional: true, ...here },
  'node_modules/other': { version: '4.0.0', integrity: 'sha512-d', optional: true, os: ['none'] },
}
const { '': _, 'node_modules/other': __, ...complete } = locked
const text = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages })
const has = (recorded: object, mode: 'runtime' | 'all' = 'all') =>
  hasPackages(text(locked), text(recorded), mode)

test('a complete install is recognised, without packages for other platforms', () => {
  expect(has(complete)).toBe(true)
})

test('an install without development packages is enough to run, not to test', () => {
  const { 'node_modules/tool': _tool, ...runtime } = complete
  expect(has(runtime, 'runtime')).toBe(true)
  expect(has(runtime)).toBe(false)
})

test('a missing, outdated or different package is noticed', () => {
  const { 'node_modules/needed': needed, ...without } = complete
  expect(has(without)).toBe(false)
  expect(has({ ...without, 'node_modules/needed': { ...needed, version: '1.9.0' } })).toBe(false)
  expect(has({ ...without, 'node_modules/needed': { ...needed, integrity: 'x' } })).toBe(false)
  const { 'node_modules/native': _native, ...unbuilt } = complete
  expect(has(unbuilt)).toBe(false)
})

test('what `npm ci` installed is not installed a second time', () => {
  const root = mkdtempSync(join(tmpdir(), 'privatemode-installed-'))
  try {
    for (const folder of ['scripts', 'node_modules']) mkdirSync(join(root, folder))
    for (const name of ['setup.mjs', 'installed-packages.mjs'])
      writeFileSync(join(root, 'scripts', name), readFileSync(join(import.meta.dir, name)))
    writeFileSync(join(root, 'package-lock.json'), text(locked))
    writeFileSync(join(root, 'node_modules', '.package-lock.json'), text(complete))
    const script = "(await import('./scripts/setup.mjs')).install('all')"
    // Without npm on the path, an attempt to install fails.
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, '-e', script], {
      cwd: root,
      env: { PATH: '' },
    })
    expect(stderr.toString()).toBe('')
    expect(exitCode).toBe(0)
    expect(existsSync(join(root, 'node_modules', '.privatemode-install'))).toBe(true)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}, 60_000)
