import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveLogFile, staticFiles } from './static-files.ts'

let base: string
let root: string

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'static-files-'))
  root = join(base, 'log')
  mkdirSync(join(root, 'tile/0/x001/234.p'), { recursive: true })
  writeFileSync(join(base, 'secret'), 'secret')
  writeFileSync(join(root, '.hidden'), 'hidden')
  writeFileSync(join(root, 'checkpoint'), 'a checkpoint')
  writeFileSync(join(root, 'tile/0/000'), 'a tile')
  writeFileSync(join(root, 'tile/0/x001/234.p/7'), 'part of a tile')
  symlinkSync(join(base, 'secret'), join(root, 'link'))
  symlinkSync(base, join(root, 'dir'))
})

afterAll(() => rmSync(base, { recursive: true, force: true }))

test('files of the log are served, full tiles as immutable', async () => {
  const checkpoint = serveLogFile(staticFiles(root), 'checkpoint')
  expect(await checkpoint.text()).toBe('a checkpoint')
  expect(checkpoint.headers.get('cache-control')).toBe('no-cache')
  const tile = serveLogFile(staticFiles(root), 'tile/0/000')
  expect(tile.headers.get('cache-control')).toContain('immutable')
  const part = serveLogFile(staticFiles(root), 'tile/0/x001/234.p/7')
  expect(await part.text()).toBe('part of a tile')
  expect(part.headers.get('cache-control')).toBe('no-cache')
})

test('nothing outside the directory, no hidden file and no directory is found', () => {
  const files = staticFiles(root)
  for (const path of [
    '',
    '.',
    '..',
    '../secret',
    'tile/../../secret',
    'tile/..%2f..%2fsecret',
    '%2e%2e/secret',
    '/etc/passwd',
    'tile//0/000',
    'tile\\0\\000',
    'checkpoint\0.txt',
    '.hidden',
    'link',
    'dir/secret',
    'tile',
    'tile/0/',
    'none',
    Array.from({ length: 40 }, () => 'a').join('/'),
  ]) {
    expect(files.find(path)).toBeUndefined()
  }
})

test('without a directory there is nothing to serve', () => {
  expect(() => serveLogFile(undefined, 'checkpoint')).toThrow('no such file')
})
