import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  findLockProblems,
  findLoosePins,
  type Lock,
  type LockedPackage,
  packageFiles,
  toolLocks,
  toolsLock,
} from './check-lock.ts'

const root = join(import.meta.dir, '../..')
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const good: LockedPackage = { version: '1.0.0', integrity: 'sha512-x', license: 'MIT' }
const lockOf = (entry: LockedPackage): Lock => ({
  packages: { '': {}, 'node_modules/a': { ...good, ...entry } },
})

test('every dependency is pinned to one version', () => {
  expect(packageFiles(root).flatMap((file) => findLoosePins(file, readJson(file)))).toEqual([])
})

test('every locked package has a hash, a known licence, and no script that is not listed', () => {
  expect(findLockProblems(readJson('package-lock.json'))).toEqual([])
  for (const path of toolLocks) expect(findLockProblems(toolsLock(readJson(path)))).toEqual([])
})

test('no install script of a dependency runs', () => {
  expect(readFileSync(join(root, '.npmrc'), 'utf8')).toContain('ignore-scripts=true')
})

test('a range, a tag and an address do not count as pins', () => {
  for (const version of ['^1.0.0', '~1.0.0', '1.x', 'latest', '*', 'github:a/b', '>=1.0.0']) {
    expect([version, findLoosePins('f', { dependencies: { a: version } }).length]).toEqual([
      version,
      1,
    ])
  }
})

test('a package without a hash, with a new script or with an unlisted licence is found', () => {
  const { integrity: _, ...unhashed } = good
  expect(findLockProblems({ packages: { 'node_modules/a': unhashed } })).toEqual(['a has no hash'])
  expect(findLockProblems(lockOf({ hasInstallScript: true }))).toHaveLength(1)
  expect(findLockProblems(lockOf({ license: 'GPL-3.0-only' }))).toHaveLength(1)
  const { license: _none, ...unlicensed } = good
  expect(findLockProblems({ packages: { 'node_modules/a': unlicensed } })).toHaveLength(1)
  expect(findLockProblems(lockOf({ license: 'MPL-2.0' }))).toHaveLength(1)
  expect(findLockProblems(lockOf({ license: 'MPL-2.0', dev: true }))).toEqual([])
  expect(findLockProblems(lockOf({ license: '(GPL-3.0-only OR MIT)' }))).toEqual([])
  expect(findLockProblems(lockOf({ resolved: 'git+ssh://x/y' }))).toHaveLength(1)
})
