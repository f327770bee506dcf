import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatEvidenceBundle } from '@privatemode/attestation'
import {
  digestHex,
  softwareBundle,
} from '../../../../packages/attestation/src/testing/software-bundle.ts'
import { softwareWorld } from '../../../../packages/attestation/src/testing/software-world.ts'
import { rejection } from '../../../../test/rejection.ts'
import { UsageError } from '../command.ts'
import { bundleCommand } from './bundle-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'bundle-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const path = (name: string) => join(folder, name)

const world = await softwareWorld()
const { bundle, inputs } = await softwareBundle(world)
const logKey = inputs.manifestTrust.kind === 'log' ? inputs.manifestTrust.trust.logKey : ''
writeFileSync(path('bundle.json'), formatEvidenceBundle(bundle))
writeFileSync(path('request'), 'request')
writeFileSync(path('response'), 'response')

let printed: string
beforeEach(() => {
  printed = ''
})
const verify = (...options: string[]) =>
  bundleCommand.run(['verify', path('bundle.json'), ...options], {
    out: (text) => {
      printed += `${text}\n`
    },
    error: () => {},
  })
const at = ['--at', '2026-03-01T12:00:00Z']
const log = ['--log-key', logKey]
const software = ['--software-root', world.fingerprint]

test('a good bundle is verified with its transcript, and says that software protects nothing', async () => {
  const bodies = ['--request', path('request'), '--response', path('response')]
  expect(await verify(...at, ...log, ...software, ...bodies)).toBe(0)
  expect(printed).toMatch(/^passed {3}software\/measurement/m)
  expect(printed).toMatch(/^passed {3}receipt\/response/m)
  expect(printed).toContain('VERIFIED for 2026-03-01T12:00:00.000Z')
  expect(printed).toContain('worker w_test on SOFTWARE, which protects nothing')
  expect(printed).toContain('10 + 5 tokens, complete')
  expect(printed).not.toContain('failed')
})

test('checks that could not be made are shown as skipped', async () => {
  expect(await verify(...at, ...log, ...software)).toBe(0)
  expect(printed).toMatch(/^skipped {2}receipt\/request/m)
})

test('software evidence is refused unless its root is named', async () => {
  expect(await verify(...at, ...log)).toBe(1)
  expect(printed).toMatch(/^failed {3}software\/verifier/m)
  expect(printed).toContain('REFUSED (software_refused)')
})

test('another time, another log and another body are refused', async () => {
  const later = ['--at', '2027-01-01T00:00:00Z']
  expect(await verify(...later, ...log, ...software)).toBe(1)
  expect(printed).toContain('log_stale')
  const patient = ['--max-log-age-hours', '10000']
  expect(await verify(...later, ...log, ...software, ...patient)).toBe(1)
  expect(printed).toContain('certificate_expired')
  const digest = `sha256:${await digestHex(new Uint8Array())}`
  expect(await verify(...at, '--manifest-digest', digest, ...software)).toBe(1)
  expect(printed).toContain('manifest_refused')
  expect(await verify(...at, ...log, ...software, '--request', path('response'))).toBe(1)
  expect(printed).toContain('receipt_invalid')
})

test('a manifest may be named by its digest', async () => {
  const digest = `sha256:${await digestHex(bundle.manifest)}`
  expect(await verify(...at, '--manifest-digest', digest, ...software)).toBe(0)
  expect(printed).toMatch(/^skipped {2}log\/proof/m)
})

test('a call without trust or time is a usage error', async () => {
  for (const options of [
    [...at],
    [...log],
    [...at, ...log, '--manifest-digest', 'sha256:00'],
    ['--at', 'noon', ...log],
    [...at, ...log, '--quorum', 'many'],
    [...at, ...log, '--role', 'gateway'],
    [...at, ...log, '--allow-unknown', 'perhaps'],
  ]) {
    expect(await rejection(verify(...options))).toBeInstanceOf(UsageError)
  }
})
