import { test } from 'bun:test'
import { checkStages } from './stage-costs.ts'

// What they cost is compared by `npm run task -- bench:stages`, on a machine that does little else.
test('the measured stages do what the programs do', async () => {
  await checkStages()
}, 240_000)
