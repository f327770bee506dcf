/** Decides how many tokens of which sequence the next batch evaluates. */

export type BatchNeed = {
  /** Prompt tokens still to evaluate; 0 while the sequence generates. */
  readonly promptLeft: number
  /** Every prompt token's logits are wanted, which takes memory: small steps. */
  readonly scoresPrompt: boolean
}

export type BatchLimits = {
  readonly batchTokens: number
  /** Prompt tokens in one step while nobody waits for a next token. */
  readonly promptChunk: number
  /** The same while others generate: a long prompt must not silence them. */
  readonly sharedChunk: number
}

const scoredChunk = 16

/**
 * Tokens per need, in the order given. Who generates always gets its one token. The last token of
 * a prompt is evaluated alone, as it is after a cached prefix, so that both ways give the same bits.
 */
export function planBatch(needs: readonly BatchNeed[], limits: BatchLimits): number[] {
  const singles = needs.filter((need) => need.promptLeft <= 1).length
  const chunk = singles > 0 ? limits.sharedChunk : limits.promptChunk
  let room = Math.min(chunk, limits.batchTokens - singles)
  return needs.map(({ promptLeft, scoresPrompt }) => {
    if (promptLeft <= 1) return 1
    const most = scoresPrompt ? Math.min(room, scoredChunk) : room
    const count = Math.max(0, Math.min(promptLeft - 1, most))
    room -= count
    return count
  })
}
