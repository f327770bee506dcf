/** The model's own log probabilities, before temperature, penalties and grammars. */

import type { NativeContext, NativeSampler } from '../model/native-binding.ts'
import type { ScoredToken } from './generation-task.ts'

/** `plain` must be a greedy sampler without options, so that the logits are unmodified. */
export async function scoreToken(
  native: NativeContext,
  plain: NativeSampler,
  logitIndex: number,
  token: number,
  top: number,
): Promise<ScoredToken> {
  // The likeliest token is always requested: the weights are relative to it.
  const [, , , logits = [], totalWeight = 1] = await native.sampleToken(
    logitIndex,
    plain,
    false,
    false,
    [[token], false, false, false, Math.max(1, top)],
    true,
  )
  const best = logits[1] ?? 0
  const logprobOf = (logit: number): number => logit - best - Math.log(totalWeight)
  const ranked = []
  for (let at = 0; at < logits.length; at += 2)
    ranked.push({ token: logits[at] ?? 0, logprob: logprobOf(logits[at + 1] ?? 0) })
  const own = ranked.findLast((one) => one.token === token)
  const logprob = own?.logprob ?? Number.NEGATIVE_INFINITY
  return { token, logprob, top: ranked.slice(0, top) }
}
