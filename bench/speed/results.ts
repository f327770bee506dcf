/** The results of a whole run, and the figures that tables and goals take from them. */
import type { ClientRow } from './clients.ts'
import type { Footprint } from './footprint.ts'
import type { Sample } from './measure.ts'
import type { PartStages } from './part-stages.ts'
import type { Stages } from './stage-costs.ts'
import type { Skipped, TargetName } from './target.ts'
import type { WorkloadId } from './workloads.ts'

export type Results = {
  readonly at: string
  /** What else a reader must know about this run; written by hand. */
  readonly note?: string
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly pinned: boolean
    /** Of memory, before each round. */
    readonly randomReadNs?: readonly number[]
  }
  readonly versions: Readonly<Record<string, string>>
  readonly seconds: number
  readonly rounds: number
  readonly minutes: number
  /** Measurements that were repeated because the host took the processor. */
  readonly repeats?: number
  readonly skipped: readonly Skipped[]
  readonly samples: readonly Sample[]
  readonly stages?: Stages
  readonly parts?: PartStages
  readonly twoCores?: TwoCores
  readonly clients?: readonly ClientRow[]
  readonly footprint?: Footprint
}

/** One worker process of the proxy against two, at the same load. */
export type TwoCores = {
  readonly one: CrewCost
  readonly two: CrewCost
  /** What load generator and backend use for one request. */
  readonly aroundUs: number
}

export type CrewCost = {
  /** Requests per CPU second of the busiest process: the throughput with one core per process. */
  readonly perBusiest: number
  /** Of all processes together, for one request. */
  readonly cpuUs: number
  /** The busiest process's part of that. */
  readonly busiestPart: number
}

/** A figure over several rounds: median, minimum and maximum. */
export type Figure = {
  /** The upper median for an even number of rounds. */
  readonly middle: number
  /** The lower median, if it is another: goals are judged by the worse one. */
  readonly lowerMiddle?: number
  readonly least: number
  readonly most: number
}

/** Under one load and of one target, a sample for each round. */
export class Figures {
  readonly #samples: readonly Sample[]

  constructor(results: Results) {
    this.#samples = results.samples.filter(({ requests }) => requests > 0)
  }

  of(workload: WorkloadId, target: TargetName): readonly Sample[] {
    return this.#samples.filter((one) => one.workload === workload && one.target === target)
  }

  figure(
    workload: WorkloadId,
    target: TargetName,
    read: (sample: Sample) => number | undefined,
  ): Figure | undefined {
    return figureOf(this.of(workload, target).map(read))
  }

  /** How one target compares with another in the same round. */
  ratio(
    workload: WorkloadId,
    target: TargetName,
    other: TargetName,
    read: (sample: Sample) => number | undefined,
    otherWorkload: WorkloadId = workload,
  ): Figure | undefined {
    const others = this.of(otherWorkload, other)
    return figureOf(
      this.of(workload, target).map((sample) => {
        const beside = others.find(({ round }) => round === sample.round)
        const [mine, theirs] = [read(sample), beside && read(beside)]
        return mine === undefined || !theirs ? undefined : mine / theirs
      }),
    )
  }
}

export function figureOf(values: readonly (number | undefined)[]): Figure | undefined {
  const sorted = values.filter((value) => value !== undefined).toSorted((a, b) => a - b)
  const [least, most] = [sorted[0], sorted.at(-1)]
  const middle = sorted[Math.floor(sorted.length / 2)]
  if (least === undefined || most === undefined || middle === undefined) return undefined
  const lowerMiddle = sorted[Math.floor((sorted.length - 1) / 2)] ?? middle
  return { middle, lowerMiddle, least, most }
}

export const cpuUsOf = (part: string) => (sample: Sample) =>
  sample.parts.find(({ name }) => name === part)?.cpuUs

export const peakMiBOf = (part: string) => (sample: Sample) =>
  sample.parts.find(({ name }) => name === part)?.peakMiB
