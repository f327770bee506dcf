import { test } from 'bun:test'
import { measureParts } from './part-stages.ts'
import { checkStages } from './stage-costs.ts'

// What they cost is compared by `npm run task -- bench:stages`, on a machine that does little else.
test('the measured stages do what the programs do', async () => {
  await checkStages()
  await measureParts({ tries: 1, calls: 1 }) // throws if a stage is refused
}, 240_000)
