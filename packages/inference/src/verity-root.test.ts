import { expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readVerityRoot } from './verity-root.ts'

test('the root hash is the one that the kernel reports for the file’s device', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-verity-'))
  try {
    const file = join(folder, 'weights')
    writeFileSync(file, 'weights')
    expect(await readVerityRoot(file, folder)).toBeUndefined()
    const { dev } = statSync(file)
    const major = (dev >> 8) & 0xfff
    const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00)
    const device = join(folder, `${major}:${minor}`, 'dm')
    mkdirSync(device, { recursive: true })
    const root = 'ab'.repeat(32)
    writeFileSync(join(device, 'uuid'), `PRIVATEMODE-VERITY-${root}\n`)
    expect(await readVerityRoot(file, folder)).toBe(root)
    writeFileSync(join(device, 'uuid'), `CRYPT-VERITY-${root}\n`)
    expect(await readVerityRoot(file, folder)).toBeUndefined()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
