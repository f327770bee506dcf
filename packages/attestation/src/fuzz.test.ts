import { expect, test } from 'bun:test'
import { thrown } from '../../../test/rejection.ts'
import { formatFuzzReport, fuzz } from './testing/fuzz.ts'
import { fuzzTargets } from './testing/fuzz-targets.ts'

// `npm run task -- fuzz:attestation` runs for as long as you like.
test('every parser accepts damaged inputs or refuses them with a typed error, quickly', async () => {
  const report = await fuzz(await fuzzTargets(), { inputs: 30_000, seed: 1, maxMs: 2000 })
  console.log(formatFuzzReport(report))
  expect(report.inputs).toBeGreaterThanOrEqual(30_000)
}, 240_000)

test('a parser that throws anything else is found, along with the input', async () => {
  const parse = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes))
  const target = { name: 'careless', seeds: [new TextEncoder().encode('{"a":1}')], parse }
  const run = fuzz([target], { inputs: 1000, seed: 1, maxMs: 2000 })
  expect(await thrown(run)).toThrow(/careless: threw SyntaxError.* base64 /s)
})

test('a parser that takes too long is found', async () => {
  const target = { name: 'slow', seeds: [new Uint8Array(8)], parse: () => undefined }
  const run = fuzz([target], { inputs: 10, seed: 1, maxMs: -1 })
  expect(await thrown(run)).toThrow('slow: took')
})
