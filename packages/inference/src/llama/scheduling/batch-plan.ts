/** Decides how many tokens of which sequence the next batch evaluates. */

export type BatchNeed = {
  /** Prompt tokens still to evaluate; 0 while the sequence generates. */
  readonly promptLeft: number
  /** The logits of every prompt token are needed, which takes memory: use small steps. */
  readonly scoresPrompt: boolean
  /** The prompt may be cached: its last token is evaluated alone, as after a cached prefix. */
  readonly endsAlone: boolean
}

export type BatchLimits = {
  readonly batchTokens: number
  /** Prompt tokens per step while no sequence is waiting for its next token. */
  readonly promptChunk: number
  /** The same while others generate: a long prompt must not stall them. */
  readonly sharedChunk: number
}

const scoredChunk = 16

/**
 * Tokens per need, in the given order. A generating sequence always gets its one token. A last
 * token that is evaluated alone yields the same bits, cached or not; without a cache, evaluating it
 * with the rest saves a step.
 */
export function planBatch(needs: readonly BatchNeed[], limits: BatchLimits): number[] {
  const singles = needs.filter((need) => need.promptLeft <= 1).length
  const chunk = singles > 0 ? limits.sharedChunk : limits.promptChunk
  let room = Math.min(chunk, limits.batchTokens - singles)
  return needs.map(({ promptLeft, scoresPrompt, endsAlone }) => {
    if (promptLeft <= 1) return 1
    const most = scoresPrompt ? Math.min(room, scoredChunk) : room
    const count = Math.max(0, Math.min(endsAlone ? promptLeft - 1 : promptLeft, most))
    room -= count
    return count
  })
}
