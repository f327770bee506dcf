/** Runs faults one after the other under load and checks after each that nothing was broken. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fault, Scene } from './fault.ts'
import type { Fleet } from './fleet/fleet.ts'
import { Ledger } from './load/ledger.ts'
import { Load, type Tally } from './load/load.ts'
import { createChance } from './random.ts'

export type FaultResult = {
  readonly name: string
  readonly family: string
  readonly note: string
  readonly skipped?: string
  readonly requests: number
  readonly right: number
  readonly errors: Readonly<Record<string, number>>
  /** Seconds from the fault's end until every client had a correct answer again; -1 for never. */
  readonly recoverySeconds: number
  readonly limitSeconds: number
  /** Complete requests that only the gateway booked, without a worker's report. */
  readonly lostReports: number
  readonly violations: readonly string[]
}

export type CampaignOptions = {
  readonly fleet: Fleet
  readonly seed: number
  readonly clients: number
  readonly say: (line: string) => void
}

const calmMs = 1_500
const settleMs = 30_000

export class Campaign {
  readonly #options: CampaignOptions
  readonly #ledger: Ledger
  readonly #load: Load
  readonly #searched = new Map<string, number>()
  readonly #leaks = new Set<string>()

  constructor(options: CampaignOptions) {
    const { fleet, clients, seed } = options
    this.#options = options
    this.#ledger = new Ledger(fleet)
    this.#load = new Load({
      target: { port: fleet.proxyPort },
      marker: fleet.marker,
      clients,
      // The load draws random numbers in no fixed order: that must not affect what the faults draw.
      chance: createChance(seed + 1),
      ledger: this.#ledger,
      timeoutMs: 12_000,
      thinkMs: 120,
    })
  }

  get counts() {
    const { requests, keys } = this.#ledger
    return { requests, keys, searchedBytes: this.#options.fleet.ears.bytes }
  }

  async start(): Promise<void> {
    this.#ledger.startChurn(400)
    this.#load.start()
    const sinceMs = performance.now()
    if ((await this.#load.recovered(sinceMs, 60_000)) === undefined) {
      throw new Error(`no load before the first fault: ${JSON.stringify(this.#load.takeTally())}`)
    }
  }

  async run(fault: Fault, seed: number): Promise<FaultResult> {
    const { fleet } = this.#options
    const obstacle = fault.obstacle?.(fleet)
    if (obstacle !== undefined) return skipped(fault, obstacle)
    const notes: string[] = []
    const note = (text: string) => void notes.push(text)
    const scene: Scene = { fleet, load: this.#load, chance: createChance(seed), note }
    await Bun.sleep(calmMs)
    this.#load.takeTally()
    const undo = await fault.inject(scene)
    await Bun.sleep(fault.holdMs)
    await undo()
    const recoveredMs = await this.#load.recovered(performance.now(), fault.limitMs)
    const tookLong = recoveredMs === undefined
    if (tookLong) await this.#restart() // or the next faults would find a broken system
    const settled = await this.#ledger.settle(fault.mayLoseReports === true, settleMs)
    const tally = this.#load.takeTally()
    const seconds = fault.limitMs / 1000
    const violations = [
      ...tally.violations,
      ...settled.violations,
      ...Object.entries(tally.errors)
        .filter(([what]) => fault.neverSeen?.test(what))
        .map(([what, count]) => `${count} × ${what}, which nobody should have seen`),
      ...(tookLong ? [`no recovery within ${seconds} s`] : []),
      ...((await fault.check?.(scene)) ?? []),
      ...this.#checkRunning(),
      ...this.#search(),
    ]
    return {
      ...describe(fault, notes),
      ...counted(tally),
      recoverySeconds: recoveredMs === undefined ? -1 : Math.round(recoveredMs / 10) / 100,
      lostReports: settled.lostReports,
      violations,
    }
  }

  /** The final check, which includes PostgreSQL's files. */
  async finish(): Promise<readonly string[]> {
    await this.#load.stop()
    await this.#ledger.stop()
    const { fleet } = this.#options
    for (const path of filesBelow(fleet.postgres.directory)) fleet.ears.file(path)
    return this.#search()
  }

  async #restart(): Promise<void> {
    const { fleet } = this.#options
    for (const link of fleet.links) link.clear()
    for (const part of fleet.parts) {
      await part.end()
      await part.start()
    }
    await this.#load.recovered(performance.now(), 30_000)
  }

  #checkRunning(): string[] {
    const gone = this.#options.fleet.parts.filter((part) => !part.isRunning)
    return gone.map((part) => `${part.name} does not run any more`)
  }

  /** Searches the written files for prompts and answers, and for malformed log lines. */
  #search(): string[] {
    const { ears, folder, proxy } = this.#options.fleet
    const found: string[] = []
    for (const path of filesBelow(join(folder, 'logs'))) {
      const from = this.#searched.get(path) ?? 0
      this.#searched.set(path, ears.file(path, from))
    }
    for (const path of filesBelow(join(folder, 'workspace'))) ears.file(path)
    for (const leak of ears.heard) {
      if (!this.#leaks.has(leak)) found.push(`in clear: ${leak}`)
      this.#leaks.add(leak)
    }
    return [
      ...found,
      ...checkEnforcementLog(join(folder, 'workspace/manifests/log.txt'), proxy.name),
    ]
  }
}

/** Every line of the proxy's record of manifests is complete and names an existing file. */
function checkEnforcementLog(path: string, owner: string): string[] {
  if (!existsSync(path)) return [`${owner}: no manifests/log.txt`]
  const text = readFileSync(path, 'utf8')
  const lines = text.split('\n')
  const bad = lines.slice(0, -1).filter((line) => {
    const name = /^\d{4}-\d\d-\d\dT[\d:.]+Z (\S+)$/.exec(line)?.[1]
    return name === undefined || !existsSync(join(path, '..', name))
  })
  return [...bad, ...(lines.at(-1) === '' ? [] : [lines.at(-1)!])].map(
    (line) => `${owner}: manifests/log.txt has the line ${JSON.stringify(line)}`,
  )
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

const describe = (fault: Fault, notes: readonly string[]) => ({
  name: fault.name,
  family: fault.family,
  note: notes.join('; '),
  limitSeconds: fault.limitMs / 1000,
})

const counted = ({ requests, right, errors }: Tally) => ({ requests, right, errors })

function skipped(fault: Fault, why: string): FaultResult {
  const nothing = { requests: 0, right: 0, errors: {}, recoverySeconds: 0, lostReports: 0 }
  return { ...describe(fault, []), ...nothing, skipped: why, violations: [] }
}
