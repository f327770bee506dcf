/** What the scheduler is asked to generate, and what it reports meanwhile. */
import type { NativeGrammarState, NativeSamplerConfig } from '../model/native-binding.ts'

export type RankedToken = { readonly token: number; readonly logprob: number }

/** A token with its log probability before any sampling option, and the likeliest alternatives. */
export type ScoredToken = RankedToken & { readonly top: readonly RankedToken[] }

export type SampledToken = {
  readonly token: number
  /** The model ended its output; the token is not text. */
  readonly isEnd: boolean
  readonly score: ScoredToken | undefined
}

export type GenerationTask = {
  readonly prompt: readonly number[]
  /** Keyed hash of model and salt: only tasks with the same key share evaluated prompts. */
  readonly key: string
  /** False if nothing of this task may be kept. */
  readonly keep: boolean
  readonly maxTokens: number
  readonly sampler: NativeSamplerConfig
  /** Applies from the first token on. Started with the task: each start copies all rules. */
  readonly grammar?: { start(): NativeGrammarState } | undefined
  /** How many of the likeliest tokens to report with each token; undefined for no scores at all. */
  readonly topLogprobs: number | undefined
  /** The same for the prompt, which is then evaluated in full. */
  readonly promptLogprobs: number | undefined
  /** Whether to continue after the model ended its output. */
  readonly ignoreEnd: boolean
  readonly signal: AbortSignal
  readonly onStart: (cachedTokens: number) => void
  readonly onPromptScore: (score: ScoredToken) => void
  readonly onToken: (token: SampledToken) => TokenDecision
}

/** `constrain` puts everything that follows under a grammar. */
export type TokenDecision =
  | { readonly kind: 'continue' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'constrain'; readonly grammar: NativeGrammarState }

export type GenerationEnd = 'end_token' | 'stopped' | 'length'
