/** What the study found: for each set of conversations and each traffic shape, what a watcher could tell. */
import type { Mode } from './collect.ts'

export type Interval = { readonly mean: number; readonly low: number; readonly high: number }

export type TopicArea = {
  readonly topic: string
  readonly area: number
  readonly low: number
  readonly high: number
}

export type Judged = Interval & {
  readonly accuracy: number
  readonly topics: readonly TopicArea[]
  /** Against guesses that know nothing, of the same resampled conversations. */
  readonly aboveChance?: Interval
}

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
    /** How long answers took against what was scripted: 1 where the machine kept up. */
    readonly slowdown?: number
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

/** What a reader must know of the machine that recorded. */
export type Recording = {
  readonly startedAt: string
  readonly minutes: number
  readonly cores: number
  /** Mean number of runnable processes in the minute before the first and the last conversation. */
  readonly loadBefore: number
  readonly loadAfter: number
  readonly seed: number
}

export type Results = {
  /** What else a reader must know about this run; written by hand. */
  readonly note?: string
  readonly recording?: Recording
  readonly scripted?: SetResult
  readonly embedded?: SetResult
  readonly wire?: WireResult
}

/** The study of packets on both legs, with the official clients. */
export type WireResult = {
  readonly at: string
  /** What else a reader must know about this run; written by hand. */
  readonly note?: string
  /** Of the machine: mean, least and most. */
  readonly load: Interval
  /** Milliseconds of processor time for a stream of 400 tokens, where it was measured. */
  readonly costs?: {
    readonly [shape in Mode]: { readonly [part in 'proxy' | 'gateway' | 'worker']: number }
  }
  readonly perTopic: number
  readonly concurrency: number
  /** How much longer unshaped answers took than they were scripted to. */
  readonly slowdown: number
  /** Rows that were recorded later, with another number of answers. */
  readonly again?: {
    readonly at: string
    readonly perTopic: number
    readonly load: Interval
    readonly rows: readonly string[]
  }
  readonly cells: readonly WireCell[]
}

export type WireCell = {
  readonly set: string
  readonly leg: 'sealed' | 'proxyless'
  readonly kind: 'stream' | 'whole' | 'tools' | 'error' | 'embeddings' | 'conversation' | 'cache'
  readonly shape: 'off' | 'default' | 'strict'
  readonly samples: number
  readonly baseRate: number
  /** What guesses that know nothing reach on as many samples. */
  readonly blind: number
  /** What the best of three such guesses exceeds once in 40 times. */
  readonly chance: number
  readonly topics: { readonly [classifier in 'trees' | 'forest' | 'logistic']: Interval }
  /** R² of the logarithm of the number of tokens. */
  readonly tokens: Interval
  /** What an ideal attacker has from the class of the answer's length alone. */
  readonly byLengthClass: { readonly area: number; readonly explained: number }
  /** Answers whose connection was closed before their end. */
  readonly resets: number
  readonly downBytes: number
  readonly wireMs: number
  readonly totalMs: number
}
