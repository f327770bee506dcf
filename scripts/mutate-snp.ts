/** Flips every bit of SEV-SNP evidence and prints what happened: node scripts/run.mjs scripts/mutate-snp.ts [every]. */
import { vendorRoots } from '../packages/attestation/src/roots.ts'
import { type FlipReport, formatFlipReport } from '../packages/attestation/src/testing/flip-bits.ts'
import { mutateSnp } from '../packages/attestation/src/testing/snp-mutation.ts'
import { realEvidence } from '../packages/attestation/src/testing/snp-vectors.ts'
import { snpWorld } from '../packages/attestation/src/testing/snp-world.ts'
import { hasVectors } from '../packages/attestation/src/testing/vectors.ts'

const every = Number(process.argv[2] ?? 1)
const reports: FlipReport[] = []

function show(title: string, report: FlipReport): void {
  reports.push(report)
  console.log(formatFlipReport(title, report))
}

for (const [product, signer, version] of [
  ['Milan', 'vcek', 2],
  ['Turin', 'vcek', 5],
  ['Genoa', 'vlek', 3],
] as const) {
  const world = await snpWorld(product, signer)
  const report = await mutateSnp(await world.attest({ version }), world.context, every)
  show(`snp, ${product} by a ${signer}, test root`, report)
}
if (hasVectors) {
  const revocation = { allowUnknown: false, revokedGraceHours: 0 }
  const context = { roots: vendorRoots, revocation, at: new Date('2025-07-01T00:00:00Z') }
  for (const name of ['virtee', 'cocoAzure'] as const) {
    show(`snp, ${name}, AMD's root`, await mutateSnp(realEvidence[name](), context, every))
  }
} else console.log("snp, AMD's root: skipped, the vectors are absent")
process.exit(reports.every(({ flipped, refused }) => flipped === refused) ? 0 : 1)
