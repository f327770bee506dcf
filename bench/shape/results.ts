/** What the study found: for each set of conversations and each traffic shape, what a watcher could tell. */
import type { Mode } from './collect.ts'

export type Interval = { readonly mean: number; readonly low: number; readonly high: number }

export type TopicArea = {
  readonly topic: string
  readonly area: number
  readonly low: number
  readonly high: number
}

export type Judged = Interval & { readonly accuracy: number; readonly topics: readonly TopicArea[] }

export type Distinct = { readonly kinds: number; readonly bits: number }

export type ModeResult = {
  readonly costs: {
    readonly exchanges: number
    readonly downBytes: number
    readonly upBytes: number
    readonly firstTokenMs: number
    readonly totalMs: number
    readonly wireMs: number
    readonly tokens: number
    readonly frameCounts: Distinct
    readonly requestLengths: Distinct
  }
  readonly tokens: {
    readonly tokens: number
    readonly accuracy: Interval
    readonly constant: Interval
    readonly blind: Interval
    readonly gain: Interval
  }
  readonly topics: {
    readonly conversations: number
    readonly baseRate: number
    readonly chance: { readonly mean: number; readonly high: number }
    readonly trees: Judged
    readonly network: Judged
    /** From the token counts in usage records, which are the same in every mode. */
    readonly bill?: Judged
  }
}

export type SetResult = { readonly [mode in Mode]?: ModeResult }
export type Results = {
  /** What a reader must know about this run. */
  readonly note?: string
  readonly scripted?: SetResult
  readonly embedded?: SetResult
}
