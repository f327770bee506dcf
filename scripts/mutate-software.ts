/** Flips every bit of a software worker's bundle and prints what happened: node scripts/run.mjs scripts/mutate-software.ts [every]. */
import { formatFlipReport } from '../packages/attestation/src/testing/flip-bits.ts'
import { mutateManifest } from '../packages/attestation/src/testing/manifest-mutations.ts'
import { mutateSoftware } from '../packages/attestation/src/testing/software-mutations.ts'

const fields = await mutateManifest()
console.log(`manifest: ${fields.changed} changes of fields, ${fields.refused} refused`)
for (const survivor of fields.survivors) console.log(`  accepted: ${survivor}`)
const report = await mutateSoftware(Number(process.argv[2] ?? 1))
console.log(formatFlipReport('software', report))
process.exit(report.survivors.length + fields.survivors.length === 0 ? 0 : 1)
