/** What the scheduler is asked to generate, and what it tells while it does. */
import type { NativeGrammarState, NativeSamplerConfig } from '../model/native-binding.ts'

export type RankedToken = { readonly token: number; readonly logprob: number }

/** A token with its log probability before any sampling option, and the likeliest tokens beside it. */
export type ScoredToken = RankedToken & { readonly top: readonly RankedToken[] }

export type SampledToken = {
  readonly token: number
  /** The model said that it is done; the token is no text. */
  readonly isEnd: boolean
  readonly score: ScoredToken | undefined
}

export type GenerationTask = {
  readonly prompt: readonly number[]
  /** Keyed hash of model and salt: only tasks with the same key share what was evaluated. */
  readonly key: string
  /** False: nothing of this task stays behind. */
  readonly keep: boolean
  readonly maxTokens: number
  readonly sampler: NativeSamplerConfig
  /** How many likeliest tokens to tell with each token; undefined for no scores at all. */
  readonly topLogprobs: number | undefined
  /** The same for the prompt, which is then evaluated as a whole. */
  readonly promptLogprobs: number | undefined
  /** Goes on after the model said that it is done. */
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
