/**
 * `npm run task -- bench:stages`: whether a small chat, a chunk and a long prompt cost the proxy more than recorded, relative
 * to bare ciphers, and a small chat the worker, the gateway and all three. It needs a mostly idle machine, so it is not a unit test; `npm run task -- bench --record` records.
 *
 * On two busy cores a single measurement was off by a factor of up to two, upwards if one of our stages was
 * disturbed and downwards if the bare cipher was; the minimum of several is repeatable. What this must detect, a copy
 * or a parse too many on the hot path, is a clear factor. Exits with 1 if a ratio exceeds its limit.
 */
import { leastRatios, type Ratios, readRecorded } from './recorded-ratios.ts'
import { checkStages } from './stage-costs.ts'

const tolerance = 1.6
const tries = 8

await checkStages()
const recorded = readRecorded()
const parts = Object.keys(recorded) as (keyof Ratios)[]
const isWithin = (seen: Ratios, part: keyof Ratios) => seen[part] < recorded[part] * tolerance
const least = await leastRatios(tries, (seen) => parts.every((part) => isWithin(seen, part)))
for (const part of parts) {
  const verdict = isWithin(least, part) ? 'good' : 'too much'
  console.log(`${part}: ${least[part].toFixed(2)} of ${recorded[part]} recorded: ${verdict}`)
}
process.exit(parts.every((part) => isWithin(least, part)) ? 0 : 1)
