/** All serving processes: starts them, replaces those that die, queries their state, stops them. */
import type { Log } from '@privatemode/service'
import type { Answers } from './channel.ts'
import { toError } from './failure.ts'
import type { HandedSettings } from './handed-settings.ts'
import { joinReports, sumCounted } from './joint-report.ts'
import type { Report, ToSupervisor } from './questions.ts'
import { ServingProcess } from './serving-process.ts'

/** The supervisor's answers other than the state of its processes. */
export type SupervisorAnswers = Pick<Answers<ToSupervisor>, 'manifest' | 'enforced'> & {
  /** Settings for the process in this slot. */
  readonly settings: (index: number) => Promise<HandedSettings>
}

type Slot = {
  readonly index: number
  serving: ServingProcess | undefined
  listening: boolean
  ready: boolean
  lastReport: Report | undefined
  pauseMs: number
}

const firstPauseMs = 100
const longestPauseMs = 10_000
/** A process that has lived this long was healthy; it is replaced without delay. */
const livedMs = 30_000
const startWithinMs = 30_000

export class ServingProcesses {
  readonly #answers: SupervisorAnswers
  readonly #log: Log
  readonly #slots: readonly Slot[]
  /** Counts of exited processes. */
  #departed = ''
  #stopping = false
  #wasReady = false
  #joining: Promise<Report> | undefined

  constructor(count: number, answers: SupervisorAnswers, log: Log) {
    this.#answers = answers
    this.#log = log
    this.#slots = Array.from({ length: count }, (_, index) => ({
      index,
      serving: undefined,
      listening: false,
      ready: false,
      lastReport: undefined,
      pauseMs: firstPauseMs,
    }))
  }

  /** Resolves with the address when all listen; throws if one cannot, and leaves none behind. */
  async start(): Promise<string> {
    try {
      const [url = ''] = await Promise.all(this.#slots.map((slot) => this.#fill(slot)))
      return url
    } catch (error) {
      this.kill()
      throw error
    }
  }

  /** Lets all drain; resolves when all have exited. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#slots.map(({ serving }) => serving?.stop()))
  }

  kill(): void {
    this.#stopping = true
    for (const { serving } of this.#slots) serving?.kill()
  }

  /** Starts a process in a slot; resolves with its address when it listens. */
  #fill(slot: Slot): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const begunMs = performance.now()
    const timer = setTimeout(() => serving.kill(), startWithinMs)
    const serving = new ServingProcess({
      ...this.#answers,
      settings: () => this.#answers.settings(slot.index),
      listening: async ({ url }) => {
        clearTimeout(timer)
        slot.listening = true
        resolve(url)
        return null
      },
      refused: async (failure) => {
        reject(toError(failure))
        return null
      },
      ready: async () => {
        slot.ready = true
        this.#announceReady()
        return null
      },
      joint: () => this.#join(),
    })
    slot.serving = serving
    void serving.exited.then((outcome) => {
      clearTimeout(timer)
      reject(new Error('a serving process exited during startup'))
      if (this.#stopping) return
      this.#log.error('serving process ended, starting another', { outcome })
      this.#vacate(slot, performance.now() - begunMs)
    })
    return promise
  }

  #vacate(slot: Slot, lastedMs: number): void {
    const { lastReport, pauseMs } = slot
    if (lastReport !== undefined) this.#departed = sumCounted(this.#departed, lastReport.metrics)
    const nextPauseMs = lastedMs > livedMs ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs)
    Object.assign(slot, {
      serving: undefined,
      listening: false,
      ready: false,
      lastReport: undefined,
      pauseMs: nextPauseMs,
    })
    setTimeout(() => {
      // If it fails, its exit is logged where it is observed.
      if (!this.#stopping) this.#fill(slot).catch(() => {})
    }, pauseMs).unref()
  }

  #announceReady(): void {
    if (this.#wasReady || this.#slots.some(({ ready }) => !ready)) return
    this.#wasReady = true
    this.#log.info('ready', { count: this.#slots.length })
  }

  /** One round of questions, shared by all concurrent callers. */
  #join(): Promise<Report> {
    this.#joining ??= this.#gather().finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  async #gather(): Promise<Report> {
    const filled = this.#slots.filter(({ listening }) => listening)
    const reports = await Promise.all(
      filled.map(async (slot) => {
        const { serving } = slot
        const report = await serving?.report()
        if (report !== undefined && slot.serving === serving) slot.lastReport = report
        return report
      }),
    )
    const ownBytes = process.memoryUsage.rss()
    return joinReports({ reports, departed: this.#departed, ownBytes })
  }
}
