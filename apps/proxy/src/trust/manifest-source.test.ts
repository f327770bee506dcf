import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@privatemode/service'
import { newSigner } from '../../../../packages/attestation/src/testing/memory-log.ts'
import { rejection } from '../../../../test/rejection.ts'
import { openWorkspace } from '../workspace.ts'
import { openManifestSource } from './manifest-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-manifest-source-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function loadFrom(fetch: () => Promise<Response>): Promise<unknown> {
  const { verifierKey } = await newSigner('manifest.service.test')
  const source = await openManifestSource(
    {
      kind: 'log',
      url: 'https://other.test/log',
      trust: { logKey: verifierKey, witnesses: [], quorum: 0 },
      maxAgeHours: 72,
    },
    openWorkspace(folder),
    fetch,
    createLog({ format: 'text', level: 0, write: () => {} }),
  )
  return rejection(source.load())
}

test('a server without a manifest log is reported with the flags that name it', async () => {
  expect(await loadFrom(async () => new Response('', { status: 404 }))).toMatchObject({
    code: 'log_unreachable',
    message: 'no manifest log at this address; check --apiEndpoint or --manifestEndpoint',
  })
})

test('a failed connection keeps its own reason', async () => {
  const failed = await loadFrom(async () => {
    throw new Error('refused')
  })
  expect(failed).toMatchObject({
    code: 'log_unreachable',
    message: 'no response from https://other.test/log',
    cause: { message: 'refused' },
  })
})
