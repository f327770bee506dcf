import { expect, test } from 'bun:test'
import { vendorRoots } from '../roots.ts'
import { formatScore, mutateSnp } from '../testing/snp-mutation.ts'
import { realEvidence } from '../testing/snp-vectors.ts'
import { snpWorld } from '../testing/snp-world.ts'
import { hasVectors } from '../testing/vectors.ts'

// A prime near a hundred: every position within a byte is met. The full form is a stride of 1.
const stride = 97

test.each([
  ['Milan', 'vcek', 2],
  ['Genoa', 'vcek', 3],
  ['Turin', 'vcek', 5],
  ['Genoa', 'vlek', 3],
] as const)(
  'every flipped bit of %s evidence by a %s is refused',
  async (product, signer, version) => {
    const world = await snpWorld(product, signer)
    const score = await mutateSnp(await world.attest({ version }), world.context, stride)
    console.log(formatScore(`${product} ${signer} v${version}`, score))
    expect(score.survivors).toEqual([])
    expect(score.flips).toBeGreaterThan(300)
  },
)

test.skipIf(!hasVectors)('every flipped bit of real evidence is refused', async () => {
  const at = new Date('2025-07-01T00:00:00Z')
  const revocation = { allowUnknown: false, revokedGraceHours: 0 }
  const context = { roots: vendorRoots, revocation, at }
  for (const name of ['virtee', 'cocoAzure'] as const) {
    const score = await mutateSnp(realEvidence[name](), context, stride)
    console.log(formatScore(name, score))
    expect(score.survivors).toEqual([])
  }
})
