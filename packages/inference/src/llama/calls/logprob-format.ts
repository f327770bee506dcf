/** Log probabilities in the forms of chat completions, legacy completions and prompts. */
import type { JsonObject } from '../../engine.ts'
import type { RankedToken, ScoredToken } from '../scheduling/generation-task.ts'
import type { TokenText } from '../scheduling/token-text.ts'

/** JSON has no number below this; OpenAI's clients interpret it as "never". */
const never = -9999

export function formatChatScore(score: ScoredToken, text: TokenText): JsonObject {
  const one = ({ token, logprob }: RankedToken): JsonObject => ({
    token: stringOf(token, text),
    logprob: finite(logprob),
    bytes: [...text.bytesOf(token)],
  })
  return { ...one(score), top_logprobs: score.top.map(one) }
}

/** The growing `logprobs` object of a legacy completion. */
export class LegacyLogprobs {
  readonly tokens: string[] = []
  readonly token_logprobs: (number | null)[] = []
  readonly top_logprobs: (Record<string, number> | null)[] = []
  readonly text_offset: number[] = []

  add(score: ScoredToken, offset: number, text: TokenText): void {
    this.tokens.push(stringOf(score.token, text))
    this.token_logprobs.push(finite(score.logprob))
    const ranked = [...score.top, score].map(({ token, logprob }) => [
      stringOf(token, text),
      finite(logprob),
    ])
    this.top_logprobs.push(Object.fromEntries(ranked))
    this.text_offset.push(offset)
  }

  /** The first token of a prompt has no predecessor, so it has no score. */
  addFirst(token: number, text: TokenText): void {
    this.tokens.push(stringOf(token, text))
    this.token_logprobs.push(null)
    this.top_logprobs.push(null)
    this.text_offset.push(0)
  }
}

/** vLLM's form: for every prompt token but the first, the likeliest tokens and itself, by id. */
export function formatPromptScores(
  scores: readonly ScoredToken[],
  text: TokenText,
): (JsonObject | null)[] {
  const one = ({ top, ...own }: ScoredToken): JsonObject => {
    const byId: JsonObject = {}
    for (const [at, { token, logprob }] of top.entries())
      byId[token] = { logprob: finite(logprob), rank: at + 1, decoded_token: stringOf(token, text) }
    byId[own.token] ??= {
      logprob: finite(own.logprob),
      rank: null,
      decoded_token: stringOf(own.token, text),
    }
    return byId
  }
  return [null, ...scores.map(one)]
}

const finite = (logprob: number): number => (Number.isFinite(logprob) ? logprob : never)

const stringOf = (token: number, text: TokenText): string =>
  new TextDecoder().decode(text.bytesOf(token))
