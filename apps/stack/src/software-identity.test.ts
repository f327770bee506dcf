import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Transcript, vendorRoots } from '@privatemode/attestation'
import { softwareVerifier } from '@privatemode/attestation/software'
import {
  parseSoftwareIdentity,
  produceSoftwareEvidence,
} from '@privatemode/attestation/software/producer'
import { rejection } from '../../../test/rejection.ts'
import { Home } from './home.ts'
import { ensureSoftwareIdentity } from './software-identity.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-identity-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const day = (count: number) => new Date(Date.UTC(2026, 0, 1) + count * 86_400_000)

test('evidence of a worker that runs for years verifies until the root expires', async () => {
  const home = new Home(folder)
  const fingerprint = await ensureSoftwareIdentity(home, day(0))
  const stored = home.read('keys', 'software-leaf.json') ?? new Uint8Array()
  const evidence = await produceSoftwareEvidence(await parseSoftwareIdentity(stored), {
    measurement: new Uint8Array(48),
    reportData: new Uint8Array(64),
  })
  const authenticate = (at: Date) =>
    softwareVerifier.authenticate(
      evidence,
      {
        roots: { ...vendorRoots, software: [fingerprint] },
        revocation: { allowUnknown: false, revokedGraceHours: 0 },
        at,
      },
      new Transcript(),
    )
  for (const count of [0, 31, 365, 3649]) {
    expect(await authenticate(day(count))).toMatchObject({ root: fingerprint })
  }
  expect(await rejection(authenticate(day(3651)))).toMatchObject({ code: 'certificate_expired' })
})

test('a later start keeps the root and issues another leaf', async () => {
  const home = new Home(folder)
  const fingerprint = await ensureSoftwareIdentity(home, day(0))
  const before = home.read('keys', 'software-leaf.json')
  expect(await ensureSoftwareIdentity(home, day(1))).toBe(fingerprint)
  expect(home.read('keys', 'software-leaf.json')).not.toEqual(before)
})
