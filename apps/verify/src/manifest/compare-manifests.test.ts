import { expect, test } from 'bun:test'
import { type Manifest, parseManifest } from '@privatemode/attestation'
import { hardwareWorld } from '../../../../packages/attestation/src/testing/hardware-world.ts'
import { changedValues } from '../../../../packages/attestation/src/testing/manifest-mutations.ts'
import { softwareWorld } from '../../../../packages/attestation/src/testing/software-world.ts'
import { compareManifests } from './compare-manifests.ts'

const world = await hardwareWorld()
const lists = { min_number: 3, max_age_hours: 48 }
const gpu = {
  ...(world.snpRule.devices as { 'nvidia-gpu': object })['nvidia-gpu'],
  modes: ['protected-pcie'],
  switches: { min: 2, max: 4 },
  gpu_serials: ['0a'],
  switch_serials: ['0b'],
}
/** Every optional field. */
const snp = {
  ...world.snpRule,
  devices: { 'nvidia-gpu': gpu },
  vmpl: 1,
  host_data: '11'.repeat(32),
  chip_ids: ['11'.repeat(64)],
  id_key_digests: ['11'.repeat(48)],
  author_key_digests: ['11'.repeat(48)],
  crl: lists,
  platform: { allow: ['smt'], require: ['ecc'], allow_bits: [9] },
}
const tdx = {
  ...world.tdxRule,
  min_tcb_evaluation_data_number: 18,
  platform_ids: ['11'.repeat(16)],
  root_crl: lists,
  pck_crl: lists,
}
const hardware = await world.inputs({
  draft: {
    roles: { worker: { accept: [snp, tdx] } },
    revocation: { require: true, max_age_hours: 24, revoked_grace_hours: 2 },
  },
})
const software = await (await softwareWorld()).inputs()

test.each([
  ['hardware', hardware.manifest],
  ['software', software.manifest],
] as const)('every changed value of a %s manifest is reported in a sentence', async (_, good) => {
  let shown = 0
  const document = JSON.parse(new TextDecoder().decode(good.bytes))
  for (const mutant of changedValues(document)) {
    const changed = await parse(mutant.document)
    const isSame = JSON.stringify(mutant.document) === JSON.stringify(document)
    if (changed === undefined || isSame) continue
    const outcome = { what: mutant.what, changes: compareManifests(good, changed).length }
    expect(outcome).not.toEqual({ what: mutant.what, changes: 0 })
    shown += 1
  }
  expect(shown).toBeGreaterThan(10)
})

/** Undefined if the change makes the manifest invalid. */
async function parse(document: unknown): Promise<Manifest | undefined> {
  return parseManifest(new TextEncoder().encode(JSON.stringify(document))).catch(() => undefined)
}
