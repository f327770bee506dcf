/** Prints the table of verdicts for docs/attestation.md: node scripts/run.mjs scripts/vector-verdicts.ts. */
import { formatVectorTable } from '../apps/verify/src/testing/vector-cases.ts'

console.log(formatVectorTable())
