import { expect, test } from 'bun:test'
import { type Manifest, parseManifest } from '@privatemode/attestation'
import { hardwareWorld } from '../../../../packages/attestation/src/testing/hardware-world.ts'
import { changedValues } from '../../../../packages/attestation/src/testing/manifest-mutations.ts'
import { softwareWorld } from '../../../../packages/attestation/src/testing/software-world.ts'
import { compareManifests } from './compare-manifests.ts'

const hardware = await (await hardwareWorld()).inputs()
const software = await (await softwareWorld()).inputs()

test.each([
  ['hardware', hardware.manifest],
  ['software', software.manifest],
] as const)(
  'no value of a manifest of %s changes without a sentence that says so',
  async (_, good) => {
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
  },
)

/** Undefined where the change makes it no manifest at all. */
async function parse(document: unknown): Promise<Manifest | undefined> {
  return parseManifest(new TextEncoder().encode(JSON.stringify(document))).catch(() => undefined)
}
