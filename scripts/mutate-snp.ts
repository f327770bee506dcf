/** Flips every bit of SEV-SNP evidence and prints what happened: node scripts/run.mjs scripts/mutate-snp.ts [every]. */
import { vendorRoots } from '../packages/attestation/src/roots.ts'
import { mutateSnp } from '../packages/attestation/src/testing/snp-mutation.ts'
import { realEvidence } from '../packages/attestation/src/testing/snp-vectors.ts'
import { snpWorld } from '../packages/attestation/src/testing/snp-world.ts'
import { every, showFlips } from './show-flips.ts'

for (const [product, signer, version] of [
  ['Milan', 'vcek', 2],
  ['Turin', 'vcek', 5],
  ['Genoa', 'vlek', 3],
] as const) {
  const world = await snpWorld(product, signer)
  const flipping = mutateSnp(await world.attest({ version }), world.context, every)
  await showFlips(`snp, ${product} by a ${signer}, test root`, flipping)
}
const revocation = { allowUnknown: false, revokedGraceHours: 0 }
const context = { roots: vendorRoots, revocation, at: new Date('2025-07-01T00:00:00Z') }
for (const name of ['virtee', 'cocoAzure'] as const) {
  await showFlips(`snp, ${name}, AMD's root`, mutateSnp(realEvidence[name](), context, every))
}
