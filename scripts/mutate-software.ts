/** Flips every bit of a software worker's bundle and prints what happened: node scripts/run.mjs scripts/mutate-software.ts [every]. */
import { mutateManifest } from '../packages/attestation/src/testing/manifest-mutations.ts'
import { mutateSoftware } from '../packages/attestation/src/testing/software-mutations.ts'
import { every, showFlips } from './show-flips.ts'

const fields = await mutateManifest()
console.log(`manifest: ${fields.changed} changes of fields, ${fields.refused} refused`)
for (const survivor of fields.survivors) console.log(`  accepted: ${survivor}`)
if (fields.survivors.length > 0) process.exitCode = 1
await showFlips('software', mutateSoftware(every))
