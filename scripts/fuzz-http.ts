/** Fuzzes the HTTP server's reader against node:http: npm run task -- fuzz:http --inputs N --seed S [--record]. */
import { fuzzHttp } from '../packages/http/src/testing/http-fuzz/compare-with-node.ts'
import { writeRecord } from '../test/fuzz/record.ts'
import { parseTaskArguments } from './task-arguments.ts'

const { values } = parseTaskArguments({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    record: { type: 'boolean', default: false },
  },
})
const read = (name: 'inputs' | 'seed'): number => {
  const value = Number(values[name])
  if (Number.isSafeInteger(value) && value > 0) return value
  console.error(`--${name}: expected a whole number above 0`)
  process.exit(2)
}
const started = performance.now()
const report = await fuzzHttp({ inputs: read('inputs'), seed: read('seed'), node: true })
const seconds = Math.round((performance.now() - started) / 1000)
console.log(
  `${report.inputs} inputs, ${report.accepted} with requests that we take, all of them the same to node:http ` +
    `and in pieces; seed ${values.seed}, ${seconds} s`,
)
if (values.record) {
  const day = new Date().toISOString().slice(0, 10)
  const figures = { inputs: report.inputs, seed: read('seed'), read: report.accepted, day }
  writeRecord('HTTP server, compared with node:http', figures)
}
