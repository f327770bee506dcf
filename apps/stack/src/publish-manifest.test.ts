import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogSource } from '@privatemode/attestation'
import { Home } from './home.ts'
import { ensureLogKey, publishManifest } from './publish-manifest.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-home-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const home = new Home(folder)

const facts = {
  rootFingerprint: 'ab'.repeat(32),
  measurement: 'cd'.repeat(48),
  models: [
    {
      id: 'm',
      digest: `sha256:${'11'.repeat(32)}`,
      tasks: ['generate' as const],
      contextLength: 256,
      displayName: 'M',
      created: 1_700_000_000,
    },
  ],
}

test('a manifest is published anew only when something changed, and clients see the latest', async () => {
  const { signer, verifierKey } = await ensureLogKey(home)
  const at = (day: number) => new Date(Date.UTC(2026, 0, day))
  const first = await publishManifest(home, signer, facts, at(1))
  const same = await publishManifest(home, signer, facts, at(2))
  expect(same.digest).toBe(first.digest)
  const changed = await publishManifest(
    home,
    signer,
    { ...facts, measurement: 'ef'.repeat(48) },
    at(3),
  )
  expect(changed.serial).toBe(2)
  const source = createLogSource({
    trust: { logKey: verifierKey, witnesses: [], quorum: 0 },
    read: async (path) => home.read('manifest-log', ...path.split('/')),
    checkpoints: { load: async () => undefined, save: async () => {} },
    record: async () => {},
  })
  expect((await source.load()).digest).toBe(changed.digest)
})

test('the key of the log is made once', async () => {
  expect(await ensureLogKey(home)).toEqual(await ensureLogKey(new Home(folder)))
})
