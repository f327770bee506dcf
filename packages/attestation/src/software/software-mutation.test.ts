import { expect, test } from 'bun:test'
import { formatFlipReport } from '../testing/flip-bits.ts'
import { mutateSoftware } from '../testing/software-mutations.ts'

// `scripts/mutate-software.ts` flips every bit; here every 211th.
const every = 211

test('no bit of software evidence, manifest, log proof or receipt changes without a refusal', async () => {
  const report = await mutateSoftware(every)
  console.log(formatFlipReport('software', report))
  expect(report.survivors).toEqual([])
  expect(report.refused).toBe(report.flipped)
  expect(report.flipped).toBeGreaterThan(200)
})
