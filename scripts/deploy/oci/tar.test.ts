import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TarEntry, writeTar } from './tar.ts'

const file = (path: string, text: string, mode = 0o644): TarEntry => ({
  kind: 'file',
  path,
  mode,
  content: new TextEncoder().encode(text),
})

test('the system’s own tar reads what was written: contents, modes, links, times, long names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-tar-'))
  try {
    const long = `${'deep/'.repeat(25)}${'n'.repeat(90)}.js`
    const entries: TarEntry[] = [
      file('usr/bin/tool', '#!/bin/sh\n', 0o755),
      file('block', 'x'.repeat(512)),
      file('empty', ''),
      file(long, 'far away'),
      { kind: 'link', path: 'lib64/loader', mode: 0o777, to: '/lib/loader' },
      { kind: 'folder', path: 'tmp', mode: 0o1777 },
    ]
    writeFileSync(join(folder, 'a.tar'), writeTar(entries, 1_700_000_000))
    const { exitCode } = Bun.spawnSync(['tar', '-xpf', 'a.tar'], { cwd: folder })
    expect(exitCode).toBe(0)
    expect(readFileSync(join(folder, 'block'), 'utf8')).toBe('x'.repeat(512))
    expect(readFileSync(join(folder, long), 'utf8')).toBe('far away')
    expect(statSync(join(folder, 'empty')).size).toBe(0)
    expect(statSync(join(folder, 'usr/bin/tool')).mode & 0o7777).toBe(0o755)
    expect(statSync(join(folder, 'tmp')).mode & 0o7777).toBe(0o1777)
    expect(readlinkSync(join(folder, 'lib64/loader'))).toBe('/lib/loader')
    expect(statSync(join(folder, 'block')).mtimeMs).toBe(1_700_000_000_000)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the bytes do not depend on the order of the entries', () => {
  const entries = [file('b/c', '1'), file('a', '2'), file('b/a', '3')]
  expect(writeTar(entries, 5)).toEqual(writeTar(entries.toReversed(), 5))
  expect(writeTar(entries, 5)).not.toEqual(writeTar(entries, 6))
})

test('everything is owned by root, regardless of who builds it', () => {
  const archive = writeTar([file('a', '')], 0)
  expect(new TextDecoder().decode(archive.subarray(108, 123))).toBe('0000000\u00000000000')
})

test('duplicate entries and names that are too long are refused', () => {
  expect(() => writeTar([file('a', '1'), file('a', '2')], 0)).toThrow('two entries')
  expect(() => writeTar([file('n'.repeat(120), '')], 0)).toThrow('too long')
})
