import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Manifest } from '@privatemode/sdk'
import { unlessMissing } from '@privatemode/service/testing'
import { rejection, thrown } from '../../../test/rejection.ts'
import { openWorkspace } from './workspace.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'workspace-'))
const manifest = (text: string) =>
  ({ bytes: new TextEncoder().encode(text) }) as unknown as Manifest

test('each enforced manifest is kept and gets one line with time and file name', async () => {
  const path = folder()
  const workspace = openWorkspace(path)
  const [first, second] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')]
  await workspace.record({ manifest: manifest('one'), fileName: 'manifest-1.json', at: first })
  await workspace.record({ manifest: manifest('one'), fileName: 'manifest-1.json', at: second })
  await workspace.record({ manifest: manifest('two'), fileName: 'manifest-2.json', at: second })
  expect(readFileSync(join(path, 'manifests/log.txt'), 'utf8')).toBe(
    '2026-01-01T00:00:00.000Z manifest-1.json\n2026-01-02T00:00:00.000Z manifest-2.json\n',
  )
  expect(readFileSync(join(path, 'manifests/manifest-2.json'), 'utf8')).toBe('two')
})

test('the checkpoint is remembered and replaced atomically', async () => {
  const path = folder()
  const { checkpoints } = openWorkspace(path)
  expect(await checkpoints.load()).toBeUndefined()
  await checkpoints.save(new TextEncoder().encode('first'))
  await checkpoints.save(new TextEncoder().encode('second'))
  expect(new TextDecoder().decode(await openWorkspace(path).checkpoints.load())).toBe('second')
  expect(readdirSync(join(path, 'manifests')).sort()).toEqual(['checkpoint', 'log.txt'])
})

test('an unwritable workspace is refused with the remedy', () => {
  expect(() => openWorkspace('/proc/none')).toThrow('choose another directory with --workspace')
})

unlessMissing(existsSync('/dev/full') ? undefined : '/dev/full does not exist').test(
  'a full disk is reported with its remedy',
  async () => {
    const path = folder()
    const workspace = openWorkspace(path)
    const manifests = join(path, 'manifests')
    const enforced = { manifest: manifest('one'), fileName: 'manifest-1.json', at: new Date() }
    const remedy = { code: 'file_unwritable', message: expect.stringContaining('free some, or') }
    symlinkSync('/dev/full', join(manifests, `manifest-1.json.${process.pid}.new`))
    expect(await rejection(workspace.record(enforced))).toMatchObject(remedy)
    symlinkSync('/dev/full', join(manifests, `checkpoint.${process.pid}.new`))
    const saved = workspace.checkpoints.save(new TextEncoder().encode('first'))
    expect(await rejection(saved)).toMatchObject(remedy)
    expect(readdirSync(manifests)).toEqual(['log.txt']) // no partial file is left
    await workspace.record(enforced)
    expect(readFileSync(join(manifests, 'log.txt'), 'utf8')).toContain('manifest-1.json')
  },
)

test('a vanished workspace is reported with its remedy', async () => {
  const path = folder()
  const workspace = openWorkspace(path)
  rmSync(path, { recursive: true })
  const enforced = { manifest: manifest('one'), fileName: 'manifest-1.json', at: new Date() }
  expect(await thrown(workspace.record(enforced))).toThrow('writing failed with ENOENT; make it')
})
