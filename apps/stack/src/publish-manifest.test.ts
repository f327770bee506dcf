import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogSource, verifyLatest } from '@privatemode/attestation'
import { Home } from './home.ts'
import { ensureLogKey, keepPublished, publishManifest } from './publish-manifest.ts'

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

test('a new manifest is published only when something changed, and clients see the latest', async () => {
  const { signer, verifierKey } = await ensureLogKey(home)
  const at = (day: number) => new Date(Date.UTC(2026, 0, day))
  const first = await publishManifest(home, signer, facts, at(1))
  const same = await publishManifest(home, signer, facts, at(2))
  expect(same.digest).toBe(first.digest)
  const trust = { logKey: verifierKey, witnesses: [], quorum: 0 }
  const read = async (path: string) => home.read('manifest-log', ...path.split('/'))
  // The manifest is unchanged, but the log now states that it is still the latest.
  expect((await verifyLatest({ ...trust, read, remembered: undefined })).asOf).toEqual(at(2))
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
    now: () => at(3),
    maxAgeHours: 72,
  })
  expect((await source.load()).digest).toBe(changed.digest)
})

test('the log key is created once', async () => {
  expect(await ensureLogKey(home)).toEqual(await ensureLogKey(new Home(folder)))
})

test('a manifest halfway to its expiry is reissued, even if nothing changed', async () => {
  const { signer } = await ensureLogKey(home)
  const start = await publishManifest(home, signer, facts, new Date('2026-02-01T00:00:00Z'))
  expect(start.expiresAt).toEqual(new Date('2026-05-02T00:00:00Z'))
  const before = await publishManifest(home, signer, facts, new Date('2026-03-17T00:00:00Z'))
  expect(before.digest).toBe(start.digest)
  const after = await publishManifest(home, signer, facts, new Date('2026-03-18T00:00:00Z'))
  expect(after.serial).toBe(start.serial + 1)
  expect(after.expiresAt).toEqual(new Date('2026-06-16T00:00:00Z'))
})

test('the log is signed again every six hours by the clock, immediately after a failure, until stopped', async () => {
  let clock = Date.UTC(2026, 2, 1)
  const calls: number[] = []
  const said: string[] = []
  const ending = new AbortController()
  const reached = async (count: number) => {
    while (calls.length < count) await Bun.sleep(1)
  }
  const publish = async (now: Date) => {
    calls.push(now.getTime())
    if (calls.length === 1) throw new Error('the disk is full')
  }
  keepPublished(
    publish,
    (line) => said.push(line),
    ending.signal,
    () => new Date(clock),
    1,
  )
  clock += 6 * 3_600_000
  await reached(2)
  expect(calls).toEqual([clock, clock])
  expect(said).toEqual(['failed to sign the manifest log again: the disk is full'])
  clock += 6 * 3_600_000
  await reached(3)
  ending.abort()
  clock += 6 * 3_600_000
  await Bun.sleep(20)
  expect(calls).toHaveLength(3)
})
