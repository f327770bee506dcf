/** Prints what 100, 10,000 and 1,000,000 users need: bun bench/sizing.ts [costs.json] [assumption=value …]. */
import { readFileSync } from 'node:fs'
import { type Assumptions, assumptions, type Costs, predict } from './sizing-model.ts'

const args = process.argv.slice(2)
const path = args.find((arg) => !arg.includes('=')) ?? 'bench/sizing-costs.json'
const changed = args.filter((arg) => arg.includes('=')).map(readChange)
const given = { ...assumptions, ...Object.fromEntries(changed) } as Assumptions
const { costs, bytesPerUsageRow } = JSON.parse(readFileSync(path, 'utf8')) as {
  costs: Costs
  bytesPerUsageRow: number
}

console.log(
  Object.entries(given)
    .map(([name, value]) => `${name}=${value}`)
    .join(' '),
)
console.log(
  '| users | requests/s at peak | workers | gateways (cores busy) | PostgreSQL cores, connections | usage rows, GiB a month |',
)
console.log('|---|---|---|---|---|---|')
for (const users of [100, 10_000, 1_000_000]) {
  const found = predict(users, costs, bytesPerUsageRow, given)
  const cells = [
    users.toLocaleString('en'),
    found.peakPerSecond.toFixed(2),
    `${found.workers} (${found.workerPerSecond.toFixed(1)}/s each)`,
    `${found.gateways} (${found.gatewayCores.toFixed(2)})`,
    `${found.postgresCores.toFixed(2)}, ${found.postgresConnections}`,
    found.usageGibPerMonth.toFixed(2),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

function readChange(arg: string): [string, number] {
  const [name = '', text = ''] = arg.split('=')
  if (!(name in assumptions) || !(Number(text) > 0)) throw new Error(`not an assumption: ${arg}`)
  return [name, Number(text)]
}
