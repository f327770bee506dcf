/** Fuzzes every parser of the attestation package: npm run task -- fuzz:attestation --inputs N --seed S. */
import { formatFuzzReport, fuzz } from '../packages/attestation/src/testing/fuzz.ts'
import { fuzzTargets } from '../packages/attestation/src/testing/fuzz-targets.ts'
import { parseTaskArguments } from './task-arguments.ts'

const { values } = parseTaskArguments({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    'max-ms': { type: 'string', default: '2000' },
  },
})
const read = (name: keyof typeof values): number => {
  const value = Number(values[name])
  if (Number.isSafeInteger(value) && value > 0) return value
  console.error(`--${name}: expected a whole number above 0`)
  process.exit(2)
}
const limits = { inputs: read('inputs'), seed: read('seed'), maxMs: read('max-ms') }
const started = performance.now()
const report = await fuzz(await fuzzTargets(), limits)
console.log(formatFuzzReport(report))
const seconds = (performance.now() - started) / 1000
console.log(`seed ${limits.seed}, ${seconds.toFixed(0)} s`)
