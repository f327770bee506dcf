/**
 * `npm run task -- soak [--minutes 120] [--share 0.7] [--capacity N] [--note TEXT] [--out FOLDER]`: mixed load for a long time.
 *
 * Measures the capacity first, then sends requests at that share of it, whether or not answers arrive; samples every
 * process and reports for each series whether it grows. Exits with 1 if something grew or was violated.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'
import { startFleet } from '../faults/fleet/start-fleet.ts'
import { Ledger } from '../faults/load/ledger.ts'
import { Load } from '../faults/load/load.ts'
import { createChance } from '../faults/random.ts'
import { findCapacity } from './capacity.ts'
import { Record } from './record.ts'
import { formatSoak, type SoakReport } from './soak-report.ts'

const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}
const say = (line: string) => void process.stdout.write(`${line}\n`)

const minutes = Number(option('minutes') ?? 120)
const share = Number(option('share') ?? 0.7)
const out = option('out') ?? 'dist/soak'
/** A note for the report, such as what else the machine was doing. */
const note = option('note')
const seed = Number(option('seed') ?? 1)
const mostAtOnce = 256
const sampleMs = 10_000
const keysInUse = 40

if (findPostgres() === undefined) {
  say('skipped: there is no PostgreSQL here')
  process.exit(0)
}
const ends: (() => Promise<void>)[] = []
let stopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // The first one ends the load, and what was seen until then is reported.
  process.on(signal, () => {
    stopping = true
  })
}
let code = 1
try {
  code = (await soak()) ? 0 : 1
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
} finally {
  for (const end of ends.toReversed()) await end().catch((error) => say(`clean-up: ${error}`))
}
process.exit(code)

async function soak(): Promise<boolean> {
  const chance = createChance(seed)
  const fleet = await startFleet({ chance, workers: 2, gateways: 2, clientKeys: true })
  ends.push(() => fleet.stop())
  const ledger = new Ledger(fleet)
  ends.push(() => ledger.stop())
  ledger.startChurn(1_000)
  while (ledger.secrets.length < 4) await Bun.sleep(100)
  const record = new Record(fleet)
  const load = new Load({
    target: { port: fleet.proxyPort },
    marker: fleet.marker,
    clients: 0,
    chance: createChance(seed + 1),
    ledger,
    timeoutMs: 60_000,
    thinkMs: 0,
    headers: () => ({ authorization: `Bearer ${chance.pick(ledger.secrets.slice(-keysInUse))}` }),
    onDone: (done) => record.done(done),
  })
  const capacity = Number(option('capacity') ?? 0) || (await findCapacity(load, say))
  const rate = capacity * share
  say(
    `capacity ${capacity.toFixed(1)} requests/s; asking ${rate.toFixed(1)} for ${minutes} minutes`,
  )
  load.takeTally()
  record.begin()
  const startedAt = new Date()
  const violations: string[] = []
  const endMs = performance.now() + minutes * 60_000
  const asking = new Set<Promise<unknown>>()
  let shed = 0
  const write = (): SoakReport => {
    const { tally } = load
    const seconds = (Date.now() - startedAt.getTime()) / 1000
    const report: SoakReport = {
      startedAt: startedAt.toISOString(),
      minutes: Math.round(seconds / 6) / 10,
      capacityPerSecond: Math.round(capacity * 10) / 10,
      share,
      requests: tally.requests,
      right: tally.right,
      errors: tally.errors,
      shed,
      keys: ledger.keys,
      violations: [...tally.violations, ...violations],
      ...(note === undefined ? {} : { note }),
      ...record.series(),
    }
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, 'soak.json'), `${JSON.stringify(report)}\n`)
    return report
  }
  let nextSampleMs = performance.now()
  let nextSettleMs = performance.now() + 60_000
  for (let dueMs = performance.now(); dueMs < endMs && !stopping; ) {
    // Poisson arrivals: independent of how fast answers come.
    dueMs += (-Math.log(1 - chance.next()) / rate) * 1000
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await Bun.sleep(waitMs)
    if (asking.size >= mostAtOnce) shed++
    else {
      const asked = load.ask()
      asking.add(asked)
      void asked.finally(() => asking.delete(asked))
    }
    if (performance.now() >= nextSampleMs) {
      nextSampleMs += sampleMs
      record.sample()
    }
    if (performance.now() >= nextSettleMs) {
      nextSettleMs += 60_000
      // Reports may be late on a busy machine; at the end none may be missing.
      void ledger.prune().then((found) => {
        violations.push(...found)
        ledger.trim(keysInUse * 2)
      })
      say(record.lastMinute())
      write() // a run that is cut short is not lost
    }
  }
  await Promise.all(asking)
  violations.push(...(await ledger.settle(false, 300_000)).violations, ...fleet.ears.heard)
  const report = write()
  const { text, grew } = formatSoak(report)
  say(text)
  return grew.length === 0 && report.violations.length === 0
}
