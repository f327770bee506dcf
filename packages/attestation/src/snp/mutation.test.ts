import { expect, test } from 'bun:test'
import { vendorRoots } from '../roots.ts'
import { formatFlipReport } from '../testing/flip-bits.ts'
import { mutateSnp } from '../testing/snp-mutation.ts'
import { realEvidence } from '../testing/snp-vectors.ts'
import { snpWorld } from '../testing/snp-world.ts'

// `scripts/mutate-snp.ts` flips every bit; here every 97th, of real evidence every 307th.
const every = 97
const everyReal = 307
const timeoutMs = 60_000

test.each([
  ['Milan', 'vcek', 2],
  ['Genoa', 'vcek', 3],
  ['Turin', 'vcek', 5],
  ['Genoa', 'vlek', 3],
] as const)(
  'no bit of %s evidence by a %s changes without a typed refusal',
  async (...which) => {
    const [product, signer, version] = which
    const world = await snpWorld(product, signer)
    const report = await mutateSnp(await world.attest({ version }), world.context, every)
    console.log(formatFlipReport(`snp, ${product} by a ${signer}, test root`, report))
    expect(report.survivors).toEqual([])
    expect(report.refused).toBe(report.flipped)
    expect(report.flipped).toBeGreaterThan(300)
  },
  timeoutMs,
)

test(
  'no bit of real evidence changes without a typed refusal',
  async () => {
    const at = new Date('2025-07-01T00:00:00Z')
    const revocation = { allowUnknown: false, revokedGraceHours: 0 }
    const context = { roots: vendorRoots, revocation, at }
    for (const name of ['virtee', 'cocoAzure'] as const) {
      const report = await mutateSnp(realEvidence[name](), context, everyReal)
      console.log(formatFlipReport(`snp, ${name}, AMD's root`, report))
      expect(report.refused).toBe(report.flipped)
    }
  },
  timeoutMs,
)
