/**
 * `npm run task -- faults [--seed N] [--only TEXT] [--minutes M] [--note TEXT] [--out FOLDER] [--list]`: the fault campaign.
 *
 * Without `--minutes` every fault is injected once, in an order determined by the seed; with it, faults are
 * drawn until the time is over. Exits with 1 if anything was violated.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPostgres } from '../../apps/gateway/src/testing/postgres-server.ts'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { cleanUpOnSignal } from '../clean-up.ts'
import { allFaults } from './all-faults.ts'
import { Campaign, type FaultResult } from './campaign.ts'
import type { Fault } from './fault.ts'
import type { Fleet } from './fleet/fleet.ts'
import { startFleet } from './fleet/start-fleet.ts'
import { startWire, type Wire, wireObstacle } from './fleet/wire.ts'
import { createChance } from './random.ts'
import { formatLine, formatTable, type Report, summarise } from './report.ts'

const { values } = parseTaskArguments({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
    clients: { type: 'string', default: '6' },
    out: { type: 'string', default: 'dist/faults' },
    /** A note for the report, such as what else the machine was doing. */
    note: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})
const say = (line: string) => void process.stdout.write(`${line}\n`)

const seed = Number(values.seed)
const minutes = Number(values.minutes)
const clients = Number(values.clients)
const { out, note } = values
const only = values.only.toLowerCase()
/** A fault that does not end is a violation and ends the campaign, since its aftermath is unknown. */
const perFaultMs = 300_000

const wanted = allFaults.filter(({ family, name }) =>
  `${family} ${name}`.toLowerCase().includes(only),
)
if (wanted.length === 0) {
  console.error(`no fault has ${JSON.stringify(only)} in its name; --list shows all of them`)
  process.exit(2)
}
if (values.list) {
  for (const fault of wanted) say(`${fault.family}: ${fault.name}`)
  process.exit(0)
}
if (findPostgres() === undefined) {
  say('skipped: there is no PostgreSQL here')
  process.exit(0)
}

const ends: (() => Promise<void>)[] = []
let ending: Promise<void> | undefined
const cleanUp = () => {
  ending ??= (async () => {
    for (const end of ends.toReversed()) await end().catch((error) => say(`clean-up: ${error}`))
  })()
  return ending
}
cleanUpOnSignal(cleanUp)

let code = 1
try {
  code = (await runCampaign()) ? 0 : 1
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
} finally {
  await cleanUp()
}
process.exit(code)

async function runCampaign(): Promise<boolean> {
  const obstacle = wireObstacle()
  const wire: Wire | undefined = obstacle === undefined ? await startWire(seed) : undefined
  if (wire !== undefined) ends.push(() => wire.stop())
  else say(`no faults in packets: ${obstacle}`)
  const fleet: Fleet = await startFleet({
    chance: createChance(seed),
    workers: 3,
    gateways: 2,
    wire,
    withClocks: true,
    withDisks: true,
    // Clients here wait for twelve seconds, so requests must be aborted before that.
    gatewayArgs: ['--usageGraceMs', '4000', '--lostWorkerMs', '2000'],
  })
  ends.push(() => fleet.stop())
  const startedAt = new Date()
  const campaign = new Campaign({ fleet, seed, clients, say })
  await campaign.start()
  say(`seed ${seed}: ${clients} clients, 1 proxy, 2 gateways, 3 workers, PostgreSQL`)
  const results: FaultResult[] = []
  for (const [index, fault] of schedule().entries()) {
    if (minutes > 0 && Date.now() - startedAt.getTime() > minutes * 60_000) break
    const result = await bounded(campaign.run(fault, seed * 1000 + index))
    results.push(result ?? endless(fault))
    say(formatLine(result ?? endless(fault)))
    if (result === undefined) break
  }
  const leaks = await campaign.finish()
  const report: Report = {
    seed,
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    clients,
    ...campaign.counts,
    faults: results,
    leaks: [...leaks],
    ...(note === undefined ? {} : { machine: note }),
  }
  mkdirSync(out, { recursive: true })
  writeFileSync(join(out, `faults-${seed}.json`), `${JSON.stringify(report, null, 2)}\n`)
  say(formatTable(report))
  const { violations, text } = summarise(report)
  say(text)
  return violations === 0
}

/** All faults once, or as many as the time allows. */
function schedule(): Fault[] {
  const chance = createChance(seed)
  if (minutes === 0) return chance.shuffle(wanted)
  return Array.from({ length: 10_000 }, () => chance.pick(wanted))
}

/** Undefined if it does not end in time. */
function bounded(run: Promise<FaultResult>): Promise<FaultResult | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), perFaultMs)
  return Promise.race([run, promise]).finally(() => clearTimeout(timer))
}

const endless = ({ name, family, limitMs }: Fault): FaultResult => ({
  ...{ name, family, note: '', requests: 0, right: 0, errors: {}, lostReports: 0 },
  recoverySeconds: -1,
  limitSeconds: limitMs / 1000,
  violations: [`no end in sight after ${perFaultMs / 1000} s`],
})
