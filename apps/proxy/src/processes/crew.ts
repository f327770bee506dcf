/** The serving processes together: started, replaced when one dies, asked for their state, stopped. */
import type { Log } from '@privatemode/service'
import type { Answers } from './channel.ts'
import { toError } from './failure.ts'
import type { HandedSettings } from './handed-settings.ts'
import { joinReports, sumCounted } from './joint-report.ts'
import type { Report, ToSupervisor } from './questions.ts'
import { ServingProcess } from './serving-process.ts'

/** What the supervisor answers beside the crew itself. */
export type Desk = Pick<Answers<ToSupervisor>, 'manifest' | 'enforced'> & {
  /** For the process in the place of this number. */
  readonly settings: (index: number) => Promise<HandedSettings>
}

type Place = {
  readonly index: number
  serving: ServingProcess | undefined
  listening: boolean
  ready: boolean
  lastReport: Report | undefined
  pauseMs: number
}

const firstPauseMs = 100
const longestPauseMs = 10_000
/** A process that has lived this long was well; its end is no reason to wait. */
const livedMs = 30_000
const startWithinMs = 30_000

export class Crew {
  readonly #desk: Desk
  readonly #log: Log
  readonly #places: readonly Place[]
  /** What processes that are gone had counted. */
  #departed = ''
  #stopping = false
  #wasReady = false
  #joining: Promise<Report> | undefined

  constructor(count: number, desk: Desk, log: Log) {
    this.#desk = desk
    this.#log = log
    this.#places = Array.from({ length: count }, (_, index) => ({
      index,
      serving: undefined,
      listening: false,
      ready: false,
      lastReport: undefined,
      pauseMs: firstPauseMs,
    }))
  }

  /** Resolves with the address when all listen; throws when one cannot, and leaves none behind. */
  async start(): Promise<string> {
    try {
      const [url = ''] = await Promise.all(this.#places.map((place) => this.#fill(place)))
      return url
    } catch (error) {
      this.kill()
      throw error
    }
  }

  /** Lets all drain; resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#places.map(({ serving }) => serving?.stop()))
  }

  kill(): void {
    this.#stopping = true
    for (const { serving } of this.#places) serving?.kill()
  }

  /** Starts a process in a place; resolves with its address when it listens. */
  #fill(place: Place): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const begunMs = performance.now()
    const timer = setTimeout(() => serving.kill(), startWithinMs)
    const serving = new ServingProcess({
      ...this.#desk,
      settings: () => this.#desk.settings(place.index),
      listening: async ({ url }) => {
        clearTimeout(timer)
        place.listening = true
        resolve(url)
        return null
      },
      refused: async (failure) => {
        reject(toError(failure))
        return null
      },
      ready: async () => {
        place.ready = true
        this.#announceReady()
        return null
      },
      joint: () => this.#join(),
    })
    place.serving = serving
    void serving.exited.then((outcome) => {
      clearTimeout(timer)
      reject(new Error('a serving process ended while it was starting'))
      if (this.#stopping) return
      this.#log.error('serving process ended, another is started', { outcome })
      this.#vacate(place, performance.now() - begunMs)
    })
    return promise
  }

  #vacate(place: Place, lastedMs: number): void {
    const { lastReport, pauseMs } = place
    if (lastReport !== undefined) this.#departed = sumCounted(this.#departed, lastReport.metrics)
    const nextPauseMs = lastedMs > livedMs ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs)
    Object.assign(place, {
      serving: undefined,
      listening: false,
      ready: false,
      lastReport: undefined,
      pauseMs: nextPauseMs,
    })
    setTimeout(() => {
      // Its end, if it comes to that, is seen and logged where it ends.
      if (!this.#stopping) this.#fill(place).catch(() => {})
    }, pauseMs).unref()
  }

  #announceReady(): void {
    if (this.#wasReady || this.#places.some(({ ready }) => !ready)) return
    this.#wasReady = true
    this.#log.info('ready', { count: this.#places.length })
  }

  /** One round of questions for all who ask meanwhile. */
  #join(): Promise<Report> {
    this.#joining ??= this.#gather().finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  async #gather(): Promise<Report> {
    const filled = this.#places.filter(({ listening }) => listening)
    const reports = await Promise.all(
      filled.map(async (place) => {
        const { serving } = place
        const report = await serving?.report()
        if (report !== undefined && place.serving === serving) place.lastReport = report
        return report
      }),
    )
    const ownBytes = process.memoryUsage.rss()
    return joinReports({ reports, departed: this.#departed, ownBytes })
  }
}
