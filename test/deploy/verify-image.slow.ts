/** The image of the commands, in a bare root without a network, as the job that signs the log anew runs it. */
import { afterAll, expect } from 'bun:test'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createNoteSigner,
  formatManifest,
  parseNoteSigner,
  publishEntry,
  verifyLatest,
} from '@privatemode/attestation'
import { unlessMissing } from '@privatemode/service/testing'
import { logFolder } from '../../apps/verify/src/manifest/log-folder.ts'
import { startProgram } from './running-program.ts'
import { bareCommand, cannotRunBare, unpackImage } from './unpacked-image.ts'

const user = 65532
const image = unpackImage('privatemode-verify', 'amd64')
const workspace = mkdtempSync(join(tmpdir(), 'privatemode-verify-image-'))
chownSync(workspace, user, user)
afterAll(() => {
  image.remove()
  rmSync(workspace, { recursive: true, force: true })
})

unlessMissing(cannotRunBare).test('the image signs a log anew, with no network', async () => {
  const { text, verifierKey } = await createNoteSigner('log.example')
  writeFileSync(join(workspace, 'log.key'), text)
  chmodSync(join(workspace, 'log.key'), 0o444)
  const rule = { kind: 'software', measurements: ['ab'.repeat(48)], root: 'cd'.repeat(32) }
  const manifest = formatManifest({
    issuedAt: '2026-01-01T00:00:00Z',
    serial: 1,
    evidence: 'software',
    roles: { worker: { accept: [{ ...rule, minimum_tcb: 1 }] } },
    models: [],
  })
  const store = logFolder(join(workspace, 'log'))
  const longAgo = new Date('2026-01-01T00:00:00Z')
  await publishEntry(store, await parseNoteSigner(text), manifest, { at: longAgo })
  Bun.spawnSync(['chown', '-R', `${user}:${user}`, join(workspace, 'log')])
  const args = ['manifest', 'publish', '--refresh', '--log', 'log', '--key', 'log.key']
  const program = startProgram(bareCommand(image, { workspace, args, alone: true }))
  expect(`${await program.exited} ${program.output()}`).toMatch(/^0 .*re-signed/s)
  const trust = { logKey: verifierKey, witnesses: [], quorum: 0 }
  const { asOf } = await verifyLatest({ ...trust, read: store.read, remembered: undefined })
  expect(asOf?.getTime()).toBeGreaterThan(Date.now() - 60_000)
})
