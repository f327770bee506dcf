/** A data directory is private to its owner, including files created later. */
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeToOthers } from './close-to-others.ts'

const before = process.umask(0o000)
const folder = mkdtempSync(join(tmpdir(), 'privatemode-closed-'))
afterAll(() => {
  process.umask(before)
  rmSync(folder, { recursive: true, force: true })
})

const modeOf = (path: string) => statSync(path).mode & 0o777

test('existing files are made private, and later ones are created private', () => {
  const data = join(folder, 'data')
  mkdirSync(join(data, 'inner'), { recursive: true, mode: 0o777 })
  writeFileSync(join(data, 'inner/old'), '')
  chmodSync(join(data, 'inner/old'), 0o666)
  closeToOthers(data)
  writeFileSync(join(data, 'inner/new'), '', { mode: 0o666 })
  mkdirSync(join(data, 'later'), { mode: 0o777 })
  expect([data, join(data, 'inner'), join(data, 'later')].map(modeOf)).toEqual([
    0o700, 0o700, 0o700,
  ])
  expect([join(data, 'inner/old'), join(data, 'inner/new')].map(modeOf)).toEqual([0o600, 0o600])
})
